import assert from "node:assert/strict";
import { mergeLive } from "./feed.ts";
import type { LiveState } from "./types.ts";

const KNOWN = { model_calls: 1, unpriced_calls: 0, partly_priced_calls: 0, estimated_calls: 0 };
const agent = (agent_id: string, cost_usd: number | null) => ({
  agent_id,
  cost_usd,
  ...KNOWN,
  usd_per_minute: 0,
  minutes: [],
});
const run = (run_id: string, started_at: string) => ({ run_id, started_at }) as LiveState["runs"][number];
const anomaly = (anomaly_id: string, detected_at: string) =>
  ({ anomaly_id, detected_at }) as LiveState["anomalies"][number];
const refusal = (event_id: number) => ({ event_id }) as LiveState["refusals"][number];

const STATE: LiveState = {
  time_zone: "UTC",
  at: "2026-11-23T21:30:00.000Z",
  day: "2026-11-23",
  minutes_from: "2026-11-23T20:31:00.000Z",
  coverage: KNOWN,
  spend: { ...KNOWN, model_calls: 2, cost_usd: 3, usd_per_minute: 0, minutes: [] },
  running: 1,
  agents: [agent("a", 2), agent("b", 1), agent("unpriced", null)],
  models: [
    { provider: "openai", model: "x", ...KNOWN, cost_usd: 2 },
    { provider: "local", model: "x", ...KNOWN, cost_usd: 1 },
  ],
  runs: [run("run_1", "2026-11-23T21:00:00.000Z")],
  alerts: [],
  refusals: [refusal(1)],
  budgets: [],
  rules: [],
  anomalies: [anomaly("anom_1", "2026-11-23T21:00:00.000Z")],
};

Deno.test("a change replaces what it names, in the order of the whole state, and leaves the rest", () => {
  const next = mergeLive(STATE, {
    at: "2026-11-23T21:30:01.000Z",
    agents: [agent("b", 5), agent("c", 3)],
    models: [{ provider: "local", model: "x", ...KNOWN, model_calls: 2, cost_usd: 7 }],
    runs: [run("run_2", "2026-11-23T21:30:00.000Z")],
    refusals: [refusal(2)],
    anomalies: [anomaly("anom_2", "2026-11-23T21:30:00.000Z")],
  });
  assert.deepEqual(next.agents.map(({ agent_id }) => agent_id), ["b", "c", "a", "unpriced"]);
  assert.deepEqual(next.models.map(({ provider, cost_usd }) => [provider, cost_usd]), [["local", 7], [
    "openai",
    2,
  ]]);
  assert.deepEqual(next.runs.map(({ run_id }) => run_id), ["run_2", "run_1"]);
  assert.deepEqual(next.refusals.map(({ event_id }) => event_id), [2, 1]);
  assert.deepEqual(next.anomalies.map(({ anomaly_id }) => anomaly_id), ["anom_2", "anom_1"]);
  assert.deepEqual([next.at, next.spend, next.running], ["2026-11-23T21:30:01.000Z", STATE.spend, 1]);
  assert.equal(STATE.agents.length, 3, "the former state is unchanged");
});

Deno.test("what is gone is removed, and only the newest refusals are kept", () => {
  const gone = { agents: ["a"], models: ["openai:x"], runs: ["run_1"], budgets: ["none"] };
  const refusals = Array.from({ length: 30 }, (_, index) => refusal(index + 2));
  const next = mergeLive(STATE, { at: STATE.at, gone, refusals });
  assert.deepEqual([next.agents.length, next.models.length, next.runs.length], [2, 1, 0]);
  assert.deepEqual([next.refusals.length, next.refusals[0]!.event_id, next.refusals.at(-1)!.event_id], [
    20,
    31,
    12,
  ]);
});
