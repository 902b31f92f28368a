import assert from "node:assert/strict";
import { fixedClock } from "../kernel/clock.ts";
import { CallCheck } from "./call_check.ts";
import { RunWatch } from "./watch.ts";
import { KEPT } from "./detect/limits.ts";
import type { CallObservation } from "./detect/observation.ts";

const clock = fixedClock("2026-11-21T09:30:00.000Z");

function call(fields: Partial<CallObservation>): CallObservation {
  return {
    type: "call",
    callId: "call_1",
    at: clock.now(),
    agentId: "agent",
    sessionId: null,
    runId: "run_1",
    step: null,
    provider: "demo",
    model: "echo",
    inputTokens: 10,
    cachedTokens: 0,
    isEstimated: false,
    costNanoUsd: 1_000_000_000n,
    ...fields,
  };
}

const THOUSANDS = 30_000;

/** At least the latest half is remembered. */
function assertBounded(sizes: Record<string, number>, limits: Record<string, number>): void {
  for (const [name, size] of Object.entries(sizes)) {
    assert.ok(size >= limits[name]! / 2 && size <= limits[name]!, `${name}: ${size} of ${limits[name]}`);
  }
}

Deno.test("the monitor remembers a bounded number of runs, whatever the number of agents", () => {
  const runs = new RunWatch();
  for (let i = 0; i < THOUSANDS; i++) {
    const ids = { agentId: `agent_${i}`, runId: `run_${i}` };
    runs.watch(call(ids));
    runs.watch({ type: "tool_calls", at: 0, sessionId: null, ...ids, calls: [{ toolName: "t", input: i }] });
  }
  assertBounded(runs.size, { runs: KEPT.runs, growths: KEPT.growths });
});

Deno.test("the monitor remembers a bounded number of agents, and reads for many of them at once", async () => {
  let reads = 0;
  const read = () => Promise.resolve({ columns: [], rows: [] }).finally(() => reads++);
  const calls = new CallCheck({ clock, store: { read } as never });
  for (let i = 0; i < THOUSANDS; i += 200) {
    const batch = Array.from({ length: 200 }, (_, index) => call({ agentId: `agent_${i + index}` }));
    assert.deepEqual(await calls.detectHours(batch, () => false), []);
  }
  assert.equal(reads, THOUSANDS / 200);
  for (let i = 0; i < 2 * KEPT.baselines; i++) await calls.detectCostly(call({ agentId: `agent_${i}` }));
  for (let i = 0; i < THOUSANDS; i += 200) {
    await calls.detectCostlyRuns(
      Array.from({ length: 200 }, (_, index) => call({ runId: `run_${i + index}`, costNanoUsd: 1n })),
      () => false,
    );
  }
  const { agents, baselines, spending } = KEPT;
  assertBounded(calls.size, { agents, baselines, spending });
});

Deno.test("a run that calls two models by turns is watched for each of them", () => {
  const runs = new RunWatch();
  const found = Array.from({ length: 12 }, (_, step) => [
    ...runs.watch(call({ step, inputTokens: 5_000 + 12_000 * step })),
    ...runs.watch(call({ step, model: "small", inputTokens: 300 })),
  ]).flat();
  assert.deepEqual([...new Set(found.map(({ kind, details }) => `${kind} ${details.model}`))], [
    "growing_input echo",
  ]);
  assert.equal(
    found[0]!.message,
    "The input of agent grew from 5,000 to 101,000 tokens in 8 steps of one run",
  );
});

Deno.test("estimated tokens don't count as growth", () => {
  const runs = new RunWatch();
  const found = Array.from(
    { length: 12 },
    (_, step) => runs.watch(call({ step, inputTokens: 5_000 + 20_000 * step, isEstimated: true })),
  );
  assert.deepEqual(found.flat(), []);
});
