import assert from "node:assert/strict";
import { PurserError } from "../../kernel/errors.ts";
import { readRuleInput, RuleChanges } from "./alert_rules.ts";

const RULE = { name: "Daily", threshold_type: "per_day_usd", threshold_usd: 10, severity: "warning" };

function issuesOf(value: unknown): { path: string; message: string }[] {
  try {
    readRuleInput(value);
  } catch (error) {
    assert.ok(error instanceof PurserError && error.code === "invalid");
    return error.details!.issues as { path: string; message: string }[];
  }
  assert.fail("nothing was refused");
}

Deno.test("readRuleInput() gives back what is right, and fills in nothing", () => {
  assert.deepEqual(readRuleInput(RULE), RULE);
  const full = { ...RULE, agent_id: null, cooldown_seconds: 0, repeat: "once_per_window", enabled: false };
  assert.deepEqual(readRuleInput(full), full);
});

Deno.test("readRuleInput() reports every issue with its path", () => {
  const paths = issuesOf({ name: " ", threshold_usd: NaN, severity: "WARNING", agent_id: "" }).map((
    { path },
  ) => path);
  assert.deepEqual(paths, ["name", "threshold_type", "threshold_usd", "severity", "agent_id"]);
  for (const threshold_usd of [Infinity, -Infinity, NaN, 0, -0, -1e-9, 1e-10, 1e9 + 1, 10n, "10"]) {
    assert.deepEqual(issuesOf({ ...RULE, threshold_usd }).map(({ path }) => path), ["threshold_usd"]);
  }
  const [unknown] = issuesOf({ ...RULE, thresholdUsd: 1 });
  assert.deepEqual(unknown, { path: "thresholdUsd", message: "is not known" });
  for (const value of [null, undefined, [], "rule", 1]) assert.equal(issuesOf(value).length, 1);
});

Deno.test("readRuleInput() says in its message what is wrong", () => {
  assert.throws(
    () => readRuleInput({ ...RULE, name: "", cooldown_seconds: 0.5 }),
    /^PurserError: Cannot read the alert rule: name: must be 1 to 200 .* \(and 1 more\)$/,
  );
});

Deno.test("RuleChanges needs one field at least, and says so only where nothing else is wrong", () => {
  const messagesOf = (value: unknown) =>
    RuleChanges.safeParse(value).error?.issues.map(({ message }) => message) ?? [];
  assert.deepEqual(messagesOf({ agent_id: null }), []);
  assert.match(messagesOf({}).join(), /^must have at least one of name, .*, enabled/);
  assert.match(messagesOf({ enabled: undefined }).join(), /^must have at least one of/);
  assert.match(messagesOf({ rule_id: "x" }).join(), /^Unrecognized key: "rule_id"$/);
});
