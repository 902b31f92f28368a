import assert from "node:assert/strict";
import { holdSteps } from "./hold_steps.ts";
import { replaySteps } from "./replay_steps.ts";
import { event, STORY } from "../_test_events.ts";

const HUGE = { steps: 1_000, characters: 1_000_000 };

Deno.test("holdSteps() holds all of a log that fits", async () => {
  const { steps, next } = await holdSteps(replaySteps(STORY));
  assert.equal(steps.length, 7);
  assert.equal(next, undefined);
});

Deno.test("holdSteps() ends reading where there is no room, and tells what comes next", async () => {
  let read = 0;
  const endless = (function* () {
    while (true) yield event(++read, "tool.called", { input: "x".repeat(1_000) });
  })();
  const few = await holdSteps(replaySteps(endless), { ...HUGE, steps: 3 });
  assert.deepEqual([few.steps.length, few.next?.event.seq, read], [3, 4, 4]);
  const endlessToo = (function* () {
    for (let seq = 1;; seq++) yield event(seq, "tool.called", { input: "x".repeat(1_000) });
  })();
  const small = await holdSteps(replaySteps(endlessToo), { ...HUGE, characters: 5_000 });
  assert.deepEqual([small.steps.length, small.next?.event.seq], [4, 5]);
});

Deno.test("holdSteps() holds one step, however large", async () => {
  const { steps, next } = await holdSteps(replaySteps(STORY), { steps: 1, characters: 1 });
  assert.deepEqual([steps.length, next?.event.seq], [1, 2]);
});
