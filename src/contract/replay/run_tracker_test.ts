import assert from "node:assert/strict";
import { called, event, stepsOf, STORY } from "./_test_events.ts";
import { totalUsd } from "./format_totals.ts";
import { RunTracker } from "./run_tracker.ts";

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
