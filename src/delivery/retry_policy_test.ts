import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { decideRetry, RETRY_WAITS_MS } from "./retry_policy.ts";

Deno.test("decideRetry() gives up a permanent failure at once", () => {
  assert.deepEqual(decideRetry({ attempt: 1, retry: false }, 0), { retry: false, reason: "permanent" });
  assert.deepEqual(decideRetry({ attempt: 1, retry: false, retryAfterMs: 5 }, 0), {
    retry: false,
    reason: "permanent",
  });
});

Deno.test("decideRetry() follows the schedule, and gives up after it", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7].map((attempt) => decideRetry({ attempt, retry: true }, 0));
  assert.deepEqual(waits, RETRY_WAITS_MS.map((waitMs) => ({ retry: true, waitMs })));
  assert.deepEqual(decideRetry({ attempt: 8, retry: true }, 0), { retry: false, reason: "exhausted" });
  assert.deepEqual(decideRetry({ attempt: 800, retry: true }, 0), { retry: false, reason: "exhausted" });
});

Deno.test("decideRetry() waits as long as the receiver requests, but not less than the schedule", () => {
  const wait = (retryAfterMs: number) => decideRetry({ attempt: 1, retry: true, retryAfterMs }, 0);
  assert.deepEqual(wait(60_000), { retry: true, waitMs: 60_000 });
  assert.deepEqual(wait(1_000), { retry: true, waitMs: 5_000 });
});

Deno.test("decideRetry() spreads retries over up to a fifth more than the schedule", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 7 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, random) => {
        const decision = decideRetry({ attempt, retry: true }, random);
        const scheduled = RETRY_WAITS_MS[attempt - 1]!;
        assert.ok(decision.retry && decision.waitMs >= scheduled && decision.waitMs <= scheduled * 1.2);
      },
    ),
  );
});
