import { RESOURCES, WORLDS } from "./resources.ts";
import { SENTENCES } from "./sentences.ts";

/** Each sentence holds for every kind of authored resource: alert rules, budgets, API keys and agents. */
for (const [where, openWorld] of Object.entries(WORLDS)) {
  for (const { says, of, check } of SENTENCES) {
    Deno.test(`an authored resource ${says}, ${where}`, async (test) => {
      for (const resource of RESOURCES) {
        if (of?.(resource) === false) continue;
        await test.step(resource.group, async () => {
          await using world = await openWorld();
          await check(resource, world);
        });
      }
    });
  }
}
