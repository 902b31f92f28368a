import assert from "node:assert/strict";
import { eagerClock } from "../../../tests/harness/eager_clock.ts";
import { busyPauseMs, retryWhileBusy } from "./file_sharing.ts";

Deno.test("busyPauseMs() grows from 1 ms to at most 20 ms, and is random below that", () => {
  const longest = [0, 1, 2, 3, 4, 5, 50, 5_000].map((retry) => busyPauseMs(retry, () => 0.999999));
  assert.deepEqual(longest.map(Math.round), [1, 2, 4, 8, 16, 20, 20, 20]);
  assert.equal(busyPauseMs(50, () => 0), 1);
  assert.equal(busyPauseMs(50, () => 0.5), 10);
});

Deno.test("retryWhileBusy() returns the first result, and throws any other error at once", async () => {
  const options = { clock: eagerClock(), random: () => 0.5, timeoutMs: 1_000 };
  const isBusy = (error: unknown) => (error as Error).message === "busy";
  let attempts = 0;
  const attempt = (last: () => number) => () => {
    if (++attempts % 5 !== 0) throw new Error("busy");
    return last();
  };
  assert.equal(await retryWhileBusy(attempt(() => 7), isBusy, options), 7);
  await assert.rejects(
    retryWhileBusy(attempt(() => assert.fail("broken")), isBusy, options),
    /broken/,
  );
  assert.equal(attempts, 10);
});

Deno.test("retryWhileBusy() throws the last error after the deadline", async () => {
  const clock = eagerClock();
  const begun = clock.monotonic();
  const busy = new Error("busy");
  await assert.rejects(
    retryWhileBusy(
      () => {
        throw busy;
      },
      () => true,
      { clock, random: () => 0.9, timeoutMs: 10_000 },
    ),
    (error) => error === busy,
  );
  const waitedMs = clock.monotonic() - begun;
  assert.ok(waitedMs >= 10_000 && waitedMs <= 10_020, `${waitedMs}`);
});
