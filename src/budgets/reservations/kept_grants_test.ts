import assert from "node:assert/strict";
import { fixedClock } from "../../kernel/clock.ts";
import type { Grant } from "../budget_gate.ts";
import { AHEAD_MS, KeptGrants } from "./kept_grants.ts";

function grantOf(reservationId: string): Grant {
  const scopes = { agentId: "a", sessionId: null, runId: null, keyId: null, budget: null };
  return { reservationId, scopes } as unknown as Grant;
}

/** Lets everything happen that does not wait for time. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("a reservation that is kept while an older one is freed is freed in its time, too", async () => {
  const clock = fixedClock(0);
  const freed: string[] = [];
  const freeing = Promise.withResolvers<void>();
  const kept = new KeptGrants(clock, async (grants) => {
    freed.push(...grants.map(({ reservationId }) => reservationId));
    await freeing.promise;
  });
  kept.add(grantOf("first"));
  clock.advance(AHEAD_MS);
  await settle();
  assert.deepEqual(freed, ["first"]);
  kept.add(grantOf("second"));
  freeing.resolve();
  await settle();
  for (const [ms, expected] of [[AHEAD_MS - 1, ["first"]], [1, ["first", "second"]]] as const) {
    clock.advance(ms);
    await settle();
    assert.deepEqual(freed, expected);
  }
});
