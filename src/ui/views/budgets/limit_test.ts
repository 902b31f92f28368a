import assert from "node:assert/strict";
import type { AlertRule } from "../../../contract/alerts/alert_rules.ts";
import type { Budget } from "../../../contract/budgets/budgets.ts";
import { byShare, byTime } from "./limit.ts";
import { limitOfBudget } from "./limit_of_budget.ts";
import { limitOfRule, type SpendingRule } from "./limit_of_rule.ts";
import { nextStopOf, stoppedBy } from "./next_stop.tsx";

const NOW = Date.parse("2026-12-31T23:30:00.000Z");

const budget = (more: Partial<Budget>) =>
  limitOfBudget({
    budget_id: "bud_1",
    name: "Day",
    limit_usd: 10,
    extra_usd: 0,
    spent_usd: 5,
    reserved_usd: 0,
    per: "day",
    agent_id: null,
    session_id: null,
    key_id: null,
    each: null,
    action: "refuse",
    enabled: true,
    state: "ok",
    time_zone: "UTC",
    month_start_day: 1,
    window_start: "2026-12-31T00:00:00.000Z",
    reaches_at: null,
    ...more,
  } as Budget);

const rule = (more: Partial<AlertRule>) =>
  limitOfRule({
    rule_id: "rule_1",
    name: "Day",
    threshold_type: "per_day_usd",
    threshold_usd: 10,
    value_usd: 5,
    time_zone: "UTC",
    month_start_day: 1,
    agent_id: null,
    enabled: true,
    reaches_at: null,
    window_start: null,
    ...more,
  } as SpendingRule, NOW);

Deno.test("the share of a budget has what is reserved, of the limit with its raises", () => {
  assert.equal(budget({ reserved_usd: 1, extra_usd: 2 }).share, 0.5);
  assert.equal(budget({ limit_usd: 0, spent_usd: 0 }).share, 1, "a limit of 0 allows nothing");
});

Deno.test("a rule is reached at its threshold, and near from 80% on", () => {
  const states = [null, 7.99, 8, 9.99, 10, 11].map((value_usd) => rule({ value_usd }).state);
  assert.deepEqual(states, ["ok", "ok", "near", "near", "reached", "reached"]);
});

Deno.test("the window of a rule is of UTC, also over the end of a year", () => {
  const day = rule({});
  assert.equal(day.resetsAt, "2027-01-01T00:00:00.000Z");
  const month = rule({ threshold_type: "per_month_usd", agent_id: "writer" });
  assert.equal(month.resetsAt, "2027-01-01T00:00:00.000Z");
  assert.equal(rule({ threshold_type: "per_hour_usd" }).resetsAt, null);
});

Deno.test("the amount of a rule links to the calls of its window, or to the session of its run", () => {
  const window_start = "2026-12-31T22:30:00.001Z";
  const hour = rule({ threshold_type: "per_hour_usd", agent_id: "writer", window_start });
  assert.equal(hour.spentHref, "/ui/costs?agent_id=writer&from=2026-12-31T22%3A30%3A00.001Z");
  const run = { threshold_type: "per_run_usd", window_start: null } as const;
  const counter = { kind: "run", id: "run_1", session_id: "ses_1" } as const;
  assert.equal(rule({ ...run, counter }).spentHref, "/ui/sessions/ses_1?tab=runs");
  assert.equal(rule({ ...run, counter: { ...counter, session_id: null } }).spentHref, undefined);
  assert.equal(rule({ ...run, counter: null }).spentHref, undefined);
  const session = { kind: "session", id: "ses_2" } as const;
  assert.equal(rule({ ...run, counter: session }).spentHref, "/ui/sessions/ses_2");
});

Deno.test("the amount of a budget links to the calls that it counts", () => {
  assert.equal(budget({}).spentHref, "/ui/costs?from=2026-12-31T00%3A00%3A00.000Z");
  const each = { each: "session", counter: { kind: "session", id: "ses_1" } } as const;
  assert.equal(budget(each).spentHref, undefined, "a day of a session is a part of it");
  assert.equal(budget({ ...each, window_start: null }).spentHref, "/ui/sessions/ses_1");
  const run = { kind: "run", id: "run_1", session_id: "ses_1" } as const;
  assert.equal(budget({ per: "run", counter: run, window_start: null }).spentHref, undefined);
  assert.equal(budget({ each: "agent", counter: null }).spentHref, undefined);
  assert.equal(budget({ key_id: "key_1", window_start: null }).spentHref, "/ui/costs?key_id=key_1&span=all");
});

Deno.test("a budget of a key has its name, and its id where the key is not known", () => {
  const scopes = ["laptops", null].map((key_name) => budget({ key_id: "key_1", key_name }).scope);
  assert.deepEqual(scopes, ["key laptops", "key key_1"]);
});

Deno.test("limits are in the order in which they are reached, then by share", () => {
  const late = budget({ name: "late", reaches_at: "2027-01-01T02:00:00.000Z" });
  const soon = budget({ name: "soon", spent_usd: 1, reaches_at: "2027-01-01T01:00:00.000Z" });
  const full = budget({ name: "full", spent_usd: 10, state: "reached" });
  const names = (limits: { name: string }[]) => limits.map(({ name }) => name);
  assert.deepEqual(names(byTime([full, late, soon])), ["soon", "late", "full"]);
  assert.deepEqual(names(byShare([soon, late, full])), ["full", "late", "soon"]);
});

Deno.test("only an enabled budget that refuses stops calls", () => {
  const reaches_at = "2027-01-01T01:00:00.000Z";
  const watching = budget({ action: "watch", reaches_at });
  const disabled = budget({ enabled: false, reaches_at });
  const next = budget({ reaches_at: "2027-01-01T03:00:00.000Z" });
  assert.equal(nextStopOf([watching, disabled, rule({ reaches_at }), next]), next);
  const full = { state: "reached", spent_usd: 10 } as const;
  const stopping = budget(full);
  const limits = [
    budget({ ...full, action: "watch" }),
    budget({ ...full, enabled: false }),
    rule({ value_usd: 10 }),
  ];
  assert.deepEqual(stoppedBy([...limits, stopping]), [stopping]);
});
