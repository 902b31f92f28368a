import assert from "node:assert/strict";
import { fixedClock } from "../kernel/clock.ts";
import { WorkQueue, type WorkQueueOptions } from "./work_queue.ts";

function openQueue(options: Partial<WorkQueueOptions<number>> = {}) {
  const seen: number[][] = [];
  const said: string[] = [];
  const queue = new WorkQueue<number>({
    clock: fixedClock(0),
    limit: 5,
    batchSize: 2,
    work: (batch) => void seen.push(batch),
    onOverflow: () => void said.push("overflow"),
    onError: (error) => void said.push((error as Error).message),
    ...options,
  });
  return { queue, seen, said };
}

Deno.test("WorkQueue works in order and in batches, and never within push()", async () => {
  const { queue, seen } = openQueue();
  for (const item of [1, 2, 3, 4, 5]) queue.push(item);
  assert.deepEqual(seen, []);
  await queue.idle();
  assert.deepEqual(seen, [[1, 2], [3, 4], [5]]);
});

Deno.test("WorkQueue gathers items until a batch is full, or somebody waits for it", async () => {
  const waits: Promise<void>[] = [];
  const sleep: WorkQueueOptions<number>["clock"]["sleep"] = (delayMs, signal) => {
    const wait = delayMs === 0
      ? Promise.resolve()
      : new Promise<void>((resolve) => signal!.addEventListener("abort", () => resolve()));
    waits.push(wait);
    return wait;
  };
  const batches = Promise.withResolvers<void>();
  const { queue, seen } = openQueue({
    clock: { sleep },
    work: (batch) => (seen.push(batch), batches.resolve()),
  });
  queue.push(1);
  assert.equal(waits.length, 1);
  queue.push(2);
  await batches.promise;
  assert.deepEqual(seen, [[1, 2]]);
  queue.push(3);
  await queue.idle();
  assert.deepEqual(seen, [[1, 2], [3]]);
});

Deno.test("WorkQueue drops the oldest when there is too much, and says so once until it was empty", async () => {
  const { queue, seen, said } = openQueue();
  for (const item of [1, 2, 3, 4, 5, 6, 7]) queue.push(item);
  await queue.idle();
  assert.deepEqual(seen.flat(), [3, 4, 5, 6, 7]);
  assert.deepEqual(said, ["overflow"]);
  for (const item of [1, 2, 3, 4, 5, 6]) queue.push(item);
  await queue.idle();
  assert.deepEqual(said, ["overflow", "overflow"]);
});

Deno.test("WorkQueue continues after work that failed, but not when it is closed", async () => {
  const fail = (batch: number[]) => {
    if (batch.includes(1)) throw new Error(`failed at ${batch}`);
    seen.push(batch);
  };
  const seen: number[][] = [];
  const { queue, said } = openQueue({ work: fail });
  for (const item of [1, 0, 1, 2, 3]) queue.push(item);
  await queue.idle();
  assert.deepEqual([seen, said], [[[3]], ["failed at 1,0"]]);
  for (const item of [4, 5, 1, 2, 3]) queue.push(item);
  await queue.close();
  assert.deepEqual([seen, said], [[[3], [4, 5]], ["failed at 1,0", "failed at 1,2"]]);
});
