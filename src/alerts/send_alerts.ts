import type { AlertResend, RuleTest } from "../contract/alerts/sent_alerts.ts";
import { isAtLeast } from "../contract/values.ts";
import type { TestContext } from "../delivery/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { ALL_SEEING } from "../ledger/mod.ts";
import { ConstraintError, requireThat, type Statement } from "../store/mod.ts";
import { readAlertNotification, type RecordedRow, toAlertRecord } from "./alerts.ts";
import type { AlertContext } from "./context.ts";
import { describeAlert } from "./describe_alert.ts";
import { inputOf, type RuleRow, RULES } from "./rules/rule_fields.ts";

/* Alerts that people send: tests of rules, and alerts of the history once more. */

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
  const rule = await RULES.read(ctx.query, ruleId);
  const alert = testAlert(rule, ctx.ids.next("alert"), ctx.clock.now());
  const record = toAlertRecord(alert, ALL_SEEING, ctx.clock.now());
  const notification = describeAlert(record, ctx.environment);
  const { list: channels } = ctx.channels;
  const { sendToChannels } = await import("../delivery/mod.ts");
  const results = await sendToChannels(ctx, { notification, record: insertAlert(alert), channels });
  return { alert_id: alert.alertId, results };
}

/**
 * Sends an alert of the history once more: one attempt through every channel that takes its severity today, with
 * deliveries of their own.
 *
 * @throws {PurserError} `not_found`; `conflict` where no channel takes its severity
 */
export async function resendAlert(
  ctx: TestContext & Pick<AlertContext, "store" | "query" | "instanceId">,
  alertId: string,
): Promise<AlertResend> {
  const notFound = () => new PurserError("not_found", `Cannot find alert ${alertId} in the history`);
  const notification = await readAlertNotification(ctx, alertId);
  if (!notification) throw notFound();
  const { severity } = notification;
  const channels = ctx.channels.list.filter(({ minSeverity }) => isAtLeast(severity, minSeverity));
  if (channels.length === 0) {
    throw new PurserError(
      "conflict",
      `Cannot send alert ${alertId}: no channel takes the severity ${severity}`,
    );
  }
  const record = requireThat({ sql: "EXISTS (SELECT 1 FROM alerts WHERE alert_id = ?1)", args: [alertId] });
  const { sendToChannels } = await import("../delivery/mod.ts");
  try {
    return { alert_id: alertId, results: await sendToChannels(ctx, { notification, record, channels }) };
  } catch (error) {
    throw error instanceof ConstraintError ? notFound() : error;
  }
}

function testAlert(rule: RuleRow, alertId: string, now: number): RecordedRow {
  return {
    alertId,
    ruleId: rule.ruleId,
    ruleName: rule.name,
    thresholdType: rule.thresholdType,
    thresholdNanoUsd: rule.thresholdNanoUsd,
    severity: rule.severity,
    valueNanoUsd: rule.thresholdNanoUsd,
    agentId: inputOf(rule).agent_id,
    windowStart: null,
    triggeredAt: now,
    isTest: true,
    budgetLimitNanoUsd: null,
    window: null,
    scope: null,
    calendar: rule.calendar,
  };
}

function insertAlert(alert: RecordedRow): Statement {
  const { alertId, ruleId, ruleName, thresholdType, thresholdNanoUsd, valueNanoUsd } = alert;
  const { severity, agentId, triggeredAt } = alert;
  const rule = [ruleId, ruleName, thresholdType, thresholdNanoUsd, severity];
  return { sql: INSERT_ALERT, args: [alertId, ...rule, valueNanoUsd, agentId, triggeredAt] };
}
