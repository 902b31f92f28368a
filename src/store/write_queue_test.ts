import assert from "node:assert/strict";
import { PurserError } from "../errors.ts";
import type { ResultSet } from "./store.ts";
import { WriteQueue, type WriteUnit } from "./write_queue.ts";

const unit = (name: string): WriteUnit => [{ sql: name }];
const names = (units: readonly WriteUnit[]) => units.map((statements) => statements[0]!.sql);
const resultsOf = (units: readonly WriteUnit[]): ResultSet[][] =>
  units.map((statements) => statements.map(({ sql }) => ({ columns: [sql], rows: [] })));

/** A queue whose commits are decided by the test. */
function createQueue(commit?: (units: readonly WriteUnit[]) => ResultSet[][]) {
  const groups: string[][] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  const queue = new WriteQueue(async (units) => {
    groups.push(names(units));
    if (!commit) {
      const gate = Promise.withResolvers<void>();
      pending.push(gate);
      await gate.promise;
    }
    return (commit ?? resultsOf)(units);
  }, (task) => queueMicrotask(task));
  return { queue, groups, pending };
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

Deno.test("WriteQueue commits what comes during a commit together in the next one", async () => {
  const { queue, groups, pending } = createQueue();
  const first = queue.push(unit("a"));
  await turn();
  const others = ["b", "c", "d"].map((name) => queue.push(unit(name)));
  await turn();
  assert.deepEqual(groups, [["a"]]);
  pending.shift()!.resolve();
  assert.equal((await first)[0]!.columns[0], "a");
  await turn();
  assert.deepEqual(groups, [["a"], ["b", "c", "d"]]);
  pending.shift()!.resolve();
  assert.deepEqual((await Promise.all(others)).map((results) => results[0]!.columns[0]), ["b", "c", "d"]);
});

Deno.test("WriteQueue gives a failed group's units a commit each, and the error only to the one it belongs to", async () => {
  const { queue, groups } = createQueue((units) => {
    if (names(units).includes("bad")) throw new Error("no");
    return resultsOf(units);
  });
  const outcomes = await Promise.allSettled(["a", "bad", "b"].map((name) => queue.push(unit(name))));
  assert.deepEqual(outcomes.map((outcome) => outcome.status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(groups, [["a", "bad", "b"], ["a"], ["bad"], ["b"]]);
});

Deno.test("WriteQueue never repeats a group whose database could not be reached: it may be committed", async () => {
  const { queue, groups } = createQueue(() => {
    throw new PurserError("unavailable", "Cannot write: gone");
  });
  const outcomes = await Promise.allSettled(["a", "b", "c"].map((name) => queue.push(unit(name))));
  assert.deepEqual(outcomes.map((outcome) => outcome.status), ["rejected", "rejected", "rejected"]);
  assert.deepEqual(groups, [["a", "b", "c"]]);
});

Deno.test("WriteQueue goes on after a failure", async () => {
  let isBroken = true;
  const { queue } = createQueue((units) => {
    if (isBroken) throw new Error("no");
    return resultsOf(units);
  });
  await assert.rejects(queue.push(unit("a")));
  isBroken = false;
  assert.equal((await queue.push(unit("b"))).length, 1);
});

Deno.test("WriteQueue splits what waits into commits of a bounded size, and keeps a large unit whole", async () => {
  const { queue, groups } = createQueue(resultsOf);
  const large: WriteUnit = Array.from({ length: 5_000 }, () => ({ sql: "large" }));
  const medium: WriteUnit = Array.from({ length: 1_500 }, () => ({ sql: "medium" }));
  const results = await Promise.all(
    [large, medium, medium, medium].map((statements) => queue.push(statements)),
  );
  assert.deepEqual(results.map((result) => result.length), [5_000, 1_500, 1_500, 1_500]);
  assert.deepEqual(groups, [["large"], ["medium", "medium"], ["medium"]]);
});

Deno.test("WriteQueue resolves close() after what waits is committed, and refuses what comes later", async () => {
  const { queue, groups, pending } = createQueue();
  const waiting = queue.push(unit("a"));
  const reason = new Error("closed");
  let isClosed = false;
  const closing = queue.close(reason).then(() => isClosed = true);
  await assert.rejects(queue.push(unit("b")), reason);
  await turn();
  assert.equal(isClosed, false);
  pending.shift()!.resolve();
  await waiting;
  await closing;
  assert.deepEqual(groups, [["a"]]);
  await queue.close(reason); // an idle queue closes at once
});

Deno.test("WriteQueue never commits what is given up while it waits, and commits what waits beside it", async () => {
  const { queue, groups, pending } = createQueue();
  const first = queue.push(unit("a"));
  await turn();
  const over = new AbortController();
  const impatient = { until: 1, signal: over.signal };
  const givenUp = [queue.push(unit("b"), impatient), queue.push(unit("c"), impatient)];
  const patient = queue.push(unit("d"), { until: 2, signal: new AbortController().signal });
  over.abort(new Error("too late"));
  pending.shift()!.resolve();
  await first;
  for (const waiting of givenUp) await assert.rejects(waiting, /too late/);
  pending.shift()!.resolve();
  assert.equal((await patient)[0]!.columns[0], "d");
  assert.deepEqual(groups, [["a"], ["d"]]);
});

Deno.test("WriteQueue tells a commit until when somebody waits for it", async () => {
  const untils: number[] = [];
  const queue = new WriteQueue((units, until) => {
    untils.push(until);
    return resultsOf(units);
  }, (task) => queueMicrotask(task));
  const { signal } = new AbortController();
  await Promise.all([3, 7, 5].map((until) => queue.push(unit("a"), { until, signal })));
  await queue.push(unit("b"));
  assert.deepEqual(untils, [7, Infinity]);
});
