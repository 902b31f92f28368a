import assert from "node:assert/strict";
import { formatTotalCost, totalUsd } from "./format_totals.ts";
import { holdSteps, replaySteps, RunTracker, selectSteps, type SeqRange } from "./replay_steps.ts";
import { called, event, stepsOf, STORY } from "../../../tests/harness/replay_events.ts";

Deno.test("replaySteps() makes one step of each event, and of a call together with its cost", async () => {
  const steps = await stepsOf(STORY);
  assert.deepEqual(steps.map(({ event, costRecorded }) => [event.seq, event.type, costRecorded?.seq]), [
    [1, "session.created", undefined],
    [2, "run.started", undefined],
    [3, "model.called", 4],
    [5, "tool.called", undefined],
    [6, "tool.returned", undefined],
    [7, "model.called", 8],
    [9, "run.completed", undefined],
  ]);
});

Deno.test("replaySteps() measures the time since the previous step and since the first", async () => {
  const steps = await stepsOf(STORY);
  assert.deepEqual(steps.map(({ sincePreviousMs }) => sincePreviousMs), [null, 0, 120, 1_280, 3, 7, 63_590]);
  assert.deepEqual(steps.map(({ elapsedMs }) => elapsedMs), [0, 0, 120, 1_400, 1_403, 1_410, 65_000]);
});

Deno.test("replaySteps() skips invalid times, and keeps a clock that went back", async () => {
  const steps = await stepsOf([
    event(1, "a", {}, { at: null }),
    event(2, "b", {}, { ms: 100 }),
    event(3, "c", {}, { at: "yesterday" }),
    event(4, "d", {}, { ms: 40 }),
  ]);
  assert.deepEqual(steps.map(({ sincePreviousMs }) => sincePreviousMs), [null, null, null, -60]);
  assert.deepEqual(steps.map(({ elapsedMs }) => elapsedMs), [null, 0, null, -60]);
});

Deno.test("replaySteps() sums exactly, where floats would not", async () => {
  const [, , first, , , second, last] = await stepsOf(STORY);
  assert.equal(first!.soFar.costNanoUsd, 100_000_000n);
  assert.equal(second!.soFar.costNanoUsd, 300_000_000n);
  assert.deepEqual(last!.soFar, {
    costNanoUsd: 300_000_000n,
    inputTokens: 20,
    outputTokens: 4,
    calls: 2,
    unpricedCalls: 0,
    partlyPricedCalls: 0,
  });
  const many = await stepsOf(
    Array.from({ length: 1_000 }, (_, index) => called(index * 2 + 1, `c${index}`, 1e-9)).flat(),
  );
  assert.equal(totalUsd(many.at(-1)!.soFar), 0.000001);
});

Deno.test("replaySteps() counts calls without a price apart, with those whose cost is invalid", async () => {
  const steps = await stepsOf([...called(1, "a", null), ...called(3, "b", 0.5), ...called(5, "c", "cheap")]);
  assert.deepEqual(steps.map(({ soFar }) => totalUsd(soFar)), [null, 0.5, 0.5]);
  assert.deepEqual(steps.map(({ soFar }) => formatTotalCost(soFar)), [
    "no price",
    "$0.5 + 1 call without a known price",
    "$0.5 + 2 calls without a known price",
  ]);
});

Deno.test("replaySteps() makes a separate cost.recorded a step of its own, and counts it", async () => {
  const [call, cost] = called(1, "a", 0.25);
  const [, other] = called(3, "b", 0.5);
  const steps = await stepsOf([call, other, event(4, "tool.called"), cost]);
  assert.deepEqual(steps.map(({ event, costRecorded }) => [event.type, costRecorded]), [
    ["model.called", undefined],
    ["cost.recorded", undefined],
    ["tool.called", undefined],
    ["cost.recorded", undefined],
  ]);
  assert.deepEqual(
    steps.map(({ soFar }) => soFar.calls),
    [1, 2, 2, 2],
    "the late one is of a call counted before",
  );
  assert.deepEqual(steps.map(({ soFar }) => totalUsd(soFar)), [0.25, 0.75, 0.75, 0.75]);
});

Deno.test("replaySteps() counts a call that was never booked by the figures of its model.called", async () => {
  const steps = await stepsOf([called(1, "a", 0.25)[0], event(2, "run.failed")]);
  assert.deepEqual(steps.map(({ soFar }) => totalUsd(soFar)), [0.25, 0.25]);
});

Deno.test("replaySteps() counts a call once that is both in the imported history and in the session's log", async () => {
  const history = called(3, "a", 0.25).map((event) => ({ ...event, imported_from: "production" }));
  const steps = await stepsOf([...history, ...called(3, "a", 0.25), ...called(5, "b", 0.5)]);
  assert.deepEqual(steps.map(({ soFar }) => [soFar.calls, totalUsd(soFar)]), [[1, 0.25], [1, 0.25], [
    2,
    0.75,
  ]]);
});

Deno.test("replaySteps() lists the inputs of a call: the input of the run, then the results of tools", async () => {
  const failed = event(2, "model.failed", { error: "busy" });
  const steps = await stepsOf([
    ...STORY.slice(0, 2),
    failed,
    ...STORY.slice(2),
    STORY[1]!,
    ...called(11, "c3", 0),
  ]);
  const sent = steps.flatMap(({ event, sent }) =>
    sent.length > 0 ? [[event.type, ...sent.map(({ type }) => type)]] : []
  );
  assert.deepEqual(sent, [
    ["model.failed", "run.started"],
    ["model.called", "run.started"],
    ["model.called", "tool.returned"],
    ["model.called", "run.started"],
  ]);
});

Deno.test("replaySteps() reads no further than it must", async () => {
  let read = 0;
  const events = (function* () {
    for (const event of STORY) {
      read++;
      yield event;
    }
  })();
  const steps = replaySteps(events);
  await steps.next();
  assert.equal(read, 1);
  await steps.next();
  await steps.next();
  assert.equal(read, 4, "a call is complete with the event after it");
});

const select = (range: SeqRange, events = STORY) => Array.fromAsync(selectSteps(replaySteps(events), range));

Deno.test("selectSteps() keeps the steps with an event in the range, a call's cost included", async () => {
  const cases: [SeqRange, number[]][] = [
    [{}, [1, 2, 3, 5, 6, 7, 9]],
    [{ from: 5, until: 7 }, [5, 6, 7]],
    [{ from: 4, until: 4 }, [3]],
    [{ from: 4 }, [3, 5, 6, 7, 9]],
    [{ until: 2 }, [1, 2]],
    [{ from: 10 }, []],
  ];
  for (const [range, seqs] of cases) {
    assert.deepEqual((await select(range)).map(({ event }) => event.seq), seqs, JSON.stringify(range));
  }
});

Deno.test("selectSteps() keeps the totals and times of the whole log", async () => {
  const [step] = await select({ from: 9 });
  assert.equal(step!.soFar.costNanoUsd, 300_000_000n);
  assert.equal(step!.elapsedMs, 65_000);
  assert.equal(step!.sincePreviousMs, 63_590);
});

Deno.test("selectSteps() puts imported history before seq 1", async () => {
  const imported = [1, 2, 7].map((seq) => event(seq, "old", {}, { imported_from: "production" }));
  const log = [...imported, ...STORY];
  const kept = async (range: SeqRange) =>
    (await select(range, log)).map(({ event }) => [event.type, event.seq]);
  assert.equal((await kept({ until: 1 })).length, 4);
  assert.deepEqual(await kept({ from: 1, until: 2 }), [["session.created", 1], ["run.started", 2]]);
});

Deno.test("selectSteps() counts an event without a seq to the one before it", async () => {
  const log = [event(1, "a"), event(null, "b"), event(2, "c")];
  assert.deepEqual((await select({ until: 1 }, log)).map(({ event }) => event.type), ["a", "b"]);
  assert.deepEqual((await select({ from: 2 }, log)).map(({ event }) => event.type), ["c"]);
});

Deno.test("selectSteps() stops reading at the end of the range", async () => {
  let isClosed = false;
  const events = (function* () {
    try {
      yield* STORY;
      assert.fail("read to the end");
    } finally {
      isClosed = true;
    }
  })();
  await Array.fromAsync(selectSteps(replaySteps(events), { until: 3 }));
  assert.ok(isClosed);
});

const HUGE = { steps: 1_000, characters: 1_000_000 };

Deno.test("holdSteps() returns all of a log within the limits", async () => {
  const { steps, next } = await holdSteps(replaySteps(STORY));
  assert.equal(steps.length, 7);
  assert.equal(next, undefined);
});

Deno.test("holdSteps() stops reading at the limits, and returns the next step", async () => {
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

Deno.test("holdSteps() returns at least one step, however large", async () => {
  const { steps, next } = await holdSteps(replaySteps(STORY), { steps: 1, characters: 1 });
  assert.deepEqual([steps.length, next?.event.seq], [1, 2]);
});

Deno.test("RunTracker has each run with its exact cost, tokens and end", async () => {
  const tracker = new RunTracker();
  const second = { run_id: "run_2" };
  const log = [
    ...STORY,
    event(10, "run.started", { model: "acme:gpt-y" }, second),
    ...called(11, "c3", 0.3).map((event) => ({ ...event, ...second })),
    event(13, "budget.exceeded", {}, { ...second, ms: 70_000 }),
    event(14, "run.started", { model: "acme:gpt-z" }, { run_id: "run_3" }),
  ];
  for (const step of await stepsOf(log)) tracker.add(step);
  assert.deepEqual(
    tracker.runs.map(({ runId, model, status, firstSeq, endedAt, totals }) => [
      runId,
      model,
      status,
      firstSeq,
      endedAt,
      totalUsd(totals),
      totals.calls,
      totals.inputTokens,
    ]),
    [
      ["run_1", "acme:gpt-x", "completed", 2, "2026-11-21T09:31:05.000Z", 0.3, 2, 20],
      ["run_2", "acme:gpt-y", "budget_exceeded", 10, "2026-11-21T09:31:10.000Z", 0.3, 1, 10],
      ["run_3", "acme:gpt-z", "running", 14, null, 0, 0, 0],
    ],
  );
});
