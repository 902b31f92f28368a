import assert from "node:assert/strict";
import { RULE_FIELDS, type RuleInput } from "../../contract/alerts/alert_rules.ts";
import { NO_SUBJECTS, ruleRow } from "../../../tests/harness/alerts.ts";
import { inputOf, toAuthoredRule } from "./rule_fields.ts";

const RULE: RuleInput = {
  name: "Daily",
  threshold_type: "per_day_usd",
  threshold_usd: 0.5,
  severity: "warning",
};

Deno.test("inputOf() returns the fields that an author sets, and nothing of the rule's state", () => {
  const row = ruleRow({ thresholdNanoUsd: 500_000_000n, cooldownMs: 90_000, scope: "researcher" });
  assert.deepEqual(inputOf(row), {
    name: "a rule",
    threshold_type: "per_day_usd",
    threshold_usd: 0.5,
    severity: "warning",
    cooldown_seconds: 90,
    repeat: "cooldown",
    ...NO_SUBJECTS,
    agent_id: "researcher",
    time_zone: "UTC",
    month_start_day: 1,
    enabled: true,
  });
  assert.equal(inputOf(ruleRow()).agent_id, null);
  const plan = inputOf(ruleRow({ thresholdType: "plan_window_pct", thresholdNanoUsd: 82_500_000_000n }));
  assert.deepEqual([plan.threshold_usd, plan.threshold_pct], [null, 82.5]);
  assert.deepEqual(Object.keys(plan).sort(), [...RULE_FIELDS].sort());
});

Deno.test("toAuthoredRule() completes a rule, also where a field is given as undefined", () => {
  const rest = {
    ...{ cooldown_seconds: 3_600, repeat: "cooldown", ...NO_SUBJECTS, agent_id: null },
    ...{ time_zone: "UTC", month_start_day: 1, enabled: true },
  };
  const completed = (input: RuleInput) => inputOf(toAuthoredRule(input));
  assert.deepEqual(completed({ ...RULE, enabled: undefined }), { ...RULE, ...rest });
  assert.deepEqual(completed({ ...RULE, enabled: false }), { ...RULE, ...rest, enabled: false });
  assert.equal(toAuthoredRule({ ...RULE, threshold_usd: 1e-9 }).thresholdNanoUsd, 1n);
});
