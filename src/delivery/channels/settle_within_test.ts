import assert from "node:assert/strict";
import { fixedClock } from "../../kernel/clock.ts";
import { settleWithin } from "./settle_within.ts";

/** A wait of five seconds, and how often somebody was called late. */
function wait<T>(work: Promise<T>, signal?: AbortSignal) {
  const clock = fixedClock(0);
  const counts = { late: 0 };
  const late = () => {
    counts.late++;
    return "late" as const;
  };
  return { clock, counts, result: settleWithin(work, { clock, timeoutMs: 5_000, signal, late }) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

Deno.test("settleWithin() is what the work comes to, and calls nobody late then", async () => {
  const done = wait(Promise.resolve(1));
  assert.equal(await done.result, 1);
  const failed = wait(Promise.reject(new Error("oh no")));
  await assert.rejects(failed.result, { message: "oh no" });
  await turn();
  assert.deepEqual([done.counts.late, failed.counts.late], [0, 0]);
});

Deno.test("settleWithin() is late at the time and not before, whatever becomes of the work afterwards", async () => {
  const work = Promise.withResolvers<number>();
  const { clock, counts, result } = wait(work.promise);
  clock.advance(4_999);
  await turn();
  assert.equal(counts.late, 0);
  clock.advance(1);
  assert.equal(await result, "late");
  work.reject(new Error("nobody hears of this"));
  await turn();
});

Deno.test("settleWithin() is late when its signal aborts, before it or during it", async () => {
  const stop = new AbortController();
  const { result } = wait(new Promise(() => {}), stop.signal);
  stop.abort();
  assert.equal(await result, "late");
  assert.equal(await wait(new Promise(() => {}), stop.signal).result, "late");
});
