import { RESOURCES, WORLDS } from "./resources.ts";
import { SENTENCES } from "./sentences.ts";
import { isInTurn } from "../harness/thorough.ts";

/** Each sentence holds for every kind of authored resource: alert rules, budgets, API keys and agents. */
for (const [nth, [where, openWorld]] of Object.entries(WORLDS).entries()) {
  for (const [turn, { says, of, check }] of SENTENCES.entries()) {
    Deno.test(`an authored resource ${says}, ${where}`, async (test) => {
      for (const [place, resource] of RESOURCES.filter((one) => of?.(one) !== false).entries()) {
        // Through a server the gate tries every other one: its own part of a command is small.
        if (nth > 0 && !isInTurn(turn + place)) continue;
        await test.step(resource.group, async () => {
          await using world = await openWorld();
          await check(resource, world);
        });
      }
    });
  }
}
