import assert from "node:assert/strict";
import type { AnomalyRow } from "../anomalies/mod.ts";
import { describeAnomaly } from "./anomalies.ts";
import { formatCost, formatName } from "./detect/detection.ts";

const ROW: AnomalyRow = {
  anomalyId: "anom_1",
  anomalyKey: "costly_call/warning/researcher/run/run_1",
  kind: "costly_call",
  severity: "warning",
  agentId: "researcher",
  sessionId: "ses_1",
  runId: "run_1",
  callId: "call_1",
  message: "A call of researcher to gpt-5 cost $1.25, usually $0.02",
  details: {
    provider: "openai",
    model: "gpt-5",
    cost_usd: 1.25,
    usual_cost_usd: 0.00000002,
    limit_usd: 0.2,
    hours: 30,
  },
  detectedAt: Date.parse("2028-02-29T23:59:59.999Z"),
};

Deno.test("describeAnomaly() has the facts for people, and the wire form without its key for programs", () => {
  const { facts, data, ...notification } = describeAnomaly(ROW, "production");
  assert.deepEqual(notification, {
    id: "anom_1",
    type: "anomaly.detected",
    isTest: false,
    severity: "warning",
    title: ROW.message,
    at: "2028-02-29T23:59:59.999Z",
    environment: "production",
  });
  assert.deepEqual(facts.map(({ label, value }) => `${label}: ${value}`), [
    "Agent: researcher",
    "Model: gpt-5",
    "Cost: $1.25",
    "Usual cost: $0.00000002",
    "Run: run_1",
    "Session: ses_1",
    "Call: call_1",
  ]);
  assert.deepEqual(data, {
    anomaly_id: "anom_1",
    kind: "costly_call",
    severity: "warning",
    agent_id: "researcher",
    session_id: "ses_1",
    run_id: "run_1",
    call_id: "call_1",
    message: ROW.message,
    details: ROW.details,
    detected_at: "2028-02-29T23:59:59.999Z",
  });
});

Deno.test("formatName() keeps a name that a model made up on one line and short", () => {
  assert.equal(formatName("a\n\u202eb\0c"), "a b c");
  assert.equal([...formatName("🚢".repeat(1_000))].length, 64);
  assert.ok(formatName("\ud800x").isWellFormed());
});

Deno.test("formatCost() rounds to the hundredth of a cent, and is exact below", () => {
  assert.deepEqual([1_250_000_000n, 20_154_233n, 20n, 0n].map(formatCost), [
    "$1.25",
    "$0.0202",
    "$0.00000002",
    "$0",
  ]);
});
