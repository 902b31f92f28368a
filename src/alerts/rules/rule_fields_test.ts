import assert from "node:assert/strict";
import type { RuleInput } from "../../contract/alerts/alert_rules.ts";
import { ruleRow } from "../../../tests/harness/alerts.ts";
import { fieldsOf, toStored, withDefaults } from "./rule_fields.ts";

const RULE: RuleInput = {
  name: "Daily",
  threshold_type: "per_day_usd",
  threshold_usd: 0.5,
  severity: "warning",
};

Deno.test("fieldsOf() returns the fields that an author sets, and nothing of the rule's state", () => {
  const row = ruleRow({ thresholdNanoUsd: 500_000_000n, cooldownMs: 90_000, scope: "researcher" });
  assert.deepEqual(fieldsOf(row), {
    name: "a rule",
    threshold_type: "per_day_usd",
    threshold_usd: 0.5,
    severity: "warning",
    cooldown_seconds: 90,
    repeat: "cooldown",
    agent_id: "researcher",
    enabled: true,
  });
  assert.equal(fieldsOf(ruleRow()).agent_id, null);
});

Deno.test("withDefaults() completes a rule, also where a field is given as undefined", () => {
  const rest = { cooldown_seconds: 3_600, repeat: "cooldown", agent_id: null, enabled: true };
  assert.deepEqual(withDefaults({ ...RULE, enabled: undefined }), { ...RULE, ...rest });
  assert.deepEqual(withDefaults({ ...RULE, enabled: false }), { ...RULE, ...rest, enabled: false });
});

Deno.test("toStored() returns the columns of the given fields only, in the form of the table", () => {
  const stored = (given: Partial<RuleInput>) =>
    Object.fromEntries(toStored(given).map(({ column, value }) => [column, value]));
  assert.deepEqual(stored({}), {});
  assert.deepEqual(stored({ name: "a", enabled: false, agent_id: null }), {
    name: "a",
    scope: "",
    enabled: 0n,
  });
  assert.deepEqual(stored({ threshold_usd: 1e-9, cooldown_seconds: 1, severity: undefined }), {
    threshold_nano_usd: 1n,
    cooldown_ms: 1_000n,
  });
});
