import assert from "node:assert/strict";
import { fixedClock } from "../../kernel/clock.ts";
import { settleWithin } from "./settle_within.ts";

/** A deadline of five seconds, with the number of timeouts. */
function wait<T>(work: Promise<T>, signal?: AbortSignal) {
  const clock = fixedClock(0);
  const counts = { timeouts: 0 };
  const onTimeout = () => {
    counts.timeouts++;
    return "timeout" as const;
  };
  return { clock, counts, result: settleWithin(work, { clock, timeoutMs: 5_000, signal, onTimeout }) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

Deno.test("settleWithin() settles as the work does, without a timeout", async () => {
  const done = wait(Promise.resolve(1));
  assert.equal(await done.result, 1);
  const failed = wait(Promise.reject(new Error("oh no")));
  await assert.rejects(failed.result, { message: "oh no" });
  await turn();
  assert.deepEqual([done.counts.timeouts, failed.counts.timeouts], [0, 0]);
});

Deno.test("settleWithin() times out at the deadline and not before, whether the work fails afterwards or not", async () => {
  const work = Promise.withResolvers<number>();
  const { clock, counts, result } = wait(work.promise);
  clock.advance(4_999);
  await turn();
  assert.equal(counts.timeouts, 0);
  clock.advance(1);
  assert.equal(await result, "timeout");
  work.reject(new Error("ignored"));
  await turn();
});

Deno.test("settleWithin() times out when its signal aborts, before it or during it", async () => {
  const stop = new AbortController();
  const { result } = wait(new Promise(() => {}), stop.signal);
  stop.abort();
  assert.equal(await result, "timeout");
  assert.equal(await wait(new Promise(() => {}), stop.signal).result, "timeout");
});
