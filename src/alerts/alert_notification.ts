import { eq } from "drizzle-orm";
import type { RuleTest } from "../contract/alerts.ts";
import type { ThresholdType } from "../contract/values.ts";
import type { Fact, Notification } from "../delivery/channels/mod.ts";
import { formatUsd, parseTotalUsd } from "../kernel/money.ts";
import { type SqlValue, type Statement, tables } from "../store/mod.ts";
import { type AlertRecord, toAlertRecord } from "./list_alerts.ts";
import type { AlertContext } from "./context.ts";
import { testAllChannels, type TestContext } from "../delivery/mod.ts";
import { readRule, type RuleRow } from "./rules/rules.ts";

const SPENT: Record<ThresholdType, string> = {
  per_run_usd: "spent in one run",
  per_session_usd: "spent in one session",
  per_hour_usd: "spent in the last hour",
  per_day_usd: "spent today (UTC)",
  per_month_usd: "spent this month (UTC)",
};

/** Reads the notification of an alert; undefined if there is no alert of that id. */
export async function readAlertNotification(
  ctx: Pick<AlertContext, "query"> & { environment: string },
  alertId: string,
): Promise<Notification | undefined> {
  const [row] = await ctx.query.select().from(tables.alerts).where(eq(tables.alerts.alertId, alertId));
  return row && describeAlert(toAlertRecord(row), ctx.environment);
}

/** Returns the notification of a rule that fired, or is tested. */
export function describeAlert(record: AlertRecord, environment: string): Notification {
  const spent = SPENT[record.threshold_type];
  const value = `$${usd(record.value_usd)}`;
  const threshold = `$${usd(record.threshold_usd)}`;
  const title = record.test
    ? `Test of alert rule ${record.rule_name}: nothing was spent`
    : `${record.rule_name}: ${value} ${spent}, threshold ${threshold}`;
  const facts: Fact[] = [{ label: "Rule", value: record.rule_name }];
  const add = (label: string, fact: string | null) => {
    if (fact !== null) facts.push({ label, value: fact });
  };
  if (record.test) add("Test", "this checks that the channel works");
  else add("Spent", `${value} ${spent.replace(/^spent /, "")}`);
  add("Threshold", threshold);
  add("Since", record.window_start);
  // The agent of the call that crossed the threshold; the spend of a time window may be that of all agents.
  add("Last call by", record.agent_id);
  add("Session", record.session_id);
  add("Run", record.run_id);
  add("Environment", environment);
  add("Alert", record.alert_id);
  return {
    id: record.alert_id,
    type: "alert.triggered",
    isTest: record.test,
    severity: record.severity,
    title,
    facts,
    at: record.triggered_at,
    environment,
    data: { ...record, environment },
  };
}

function usd(value: number): string {
  return formatUsd(parseTotalUsd(value));
}

/** The columns of an alert that its record is made of. */
type TestAlert = Parameters<typeof toAlertRecord>[0];

const INSERT_ALERT =
  `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity,
  value_nano_usd, agent_id, triggered_at, is_test)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)`;

/**
 * Sends a test of a rule, also of a disabled one, through every channel, whatever its lowest severity. It is kept in the
 * history; it neither counts in a window nor starts the cooldown. Throws `not_found`.
 */
export async function testRule(
  ctx: TestContext & Pick<AlertContext, "store" | "query" | "instanceId">,
  ruleId: string,
): Promise<RuleTest> {
  const rule = await readRule(ctx.query, ruleId);
  const alert = testAlert(rule, ctx.ids.next("alert"), ctx.clock.now());
  const notification = describeAlert(toAlertRecord(alert), ctx.environment);
  const results = await testAllChannels(ctx, { notification, record: insertAlert(alert) });
  return { alert_id: alert.alertId, results };
}

function testAlert(rule: RuleRow, alertId: string, now: number): TestAlert {
  return {
    alertId,
    ruleId: rule.ruleId,
    ruleName: rule.name,
    thresholdType: rule.thresholdType,
    thresholdNanoUsd: rule.thresholdNanoUsd,
    severity: rule.severity,
    valueNanoUsd: rule.thresholdNanoUsd,
    agentId: rule.scope || null,
    sessionId: null,
    runId: null,
    windowStart: null,
    triggeredAt: now,
    isTest: true,
  };
}

function insertAlert(alert: TestAlert): Statement {
  const args: SqlValue[] = [
    alert.alertId,
    alert.ruleId,
    alert.ruleName,
    alert.thresholdType,
    alert.thresholdNanoUsd,
    alert.severity,
    alert.valueNanoUsd,
    alert.agentId,
    alert.triggeredAt,
  ];
  return { sql: INSERT_ALERT, args };
}
