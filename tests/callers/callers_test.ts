import { CALLERS } from "./callers.ts";
import { SENTENCES } from "./sentences.ts";

/**
 * Each sentence about a model call holds for every caller: a run, `meter()`, and the gateway, over each wire, whole and streamed.
 */
for (const { says, of, check } of SENTENCES) {
  Deno.test(`every caller ${says}`, async (test) => {
    for (const caller of CALLERS) {
      if (of?.(caller) === false) continue;
      await test.step(caller.name, () => check(caller));
    }
  });
}
