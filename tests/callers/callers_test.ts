import { CALLERS } from "./callers.ts";
import { makesCalls } from "./sentence.ts";
import { SENTENCES } from "./sentences.ts";

/**
 * Each sentence about a model call holds for every caller: a run, `meter()`, and the gateway, over each wire, whole and streamed;
 * and those that can be said of a call that was made elsewhere, for its report.
 */
for (const { says, of = makesCalls, check } of SENTENCES) {
  Deno.test(`every caller ${says}`, async (test) => {
    for (const caller of CALLERS.filter(of)) {
      await test.step(caller.name, () => check(caller));
    }
  });
}
