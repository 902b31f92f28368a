import type { RuleTest } from "../contract/alerts.ts";
import { leaseNow, leaseTime, type SqlValue, type Statement } from "../store/mod.ts";
import { toAlertRecord } from "./alert_record.ts";
import type { AlertContext } from "./context.ts";
import { testHolder } from "../delivery/mod.ts";
import { describeAlert } from "./describe_alert.ts";
import { readRule } from "./rules/get_rule.ts";
import type { RuleRow } from "./rules/rule.ts";
import { attemptTest, type TestContext, type TestResult } from "../delivery/mod.ts";

/** The columns of an alert that a record of it is made of. */
type TestAlert = Parameters<typeof toAlertRecord>[0];

/** How much longer than its slowest channel a test keeps the dispatcher off. */
const LEASE_MARGIN_MS = 60_000;

const INSERT_ALERT =
  `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity,
  value_nano_usd, agent_id, triggered_at, is_test)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)`;

// Attempted from the claim on.
const INSERT_DELIVERY =
  `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, attempts, due_at, created_at,
  lease_until, leased_by)
VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5, ?6 + ${leaseTime("?7")}, ?8)`;

const SETTLE = `UPDATE deliveries
SET status = ?2, last_error = ?3, settled_at = ?4, lease_until = NULL, leased_by = NULL
WHERE delivery_id = ?1 AND leased_by = ?5`;

/**
 * Sends a test of a rule, also of a disabled one, to every channel whatever it wants to hear of: one attempt each,
 * all at one time. It is kept in the history; it neither counts in a window nor uses up the cooldown. Throws
 * `not_found`.
 */
export async function testRule(
  ctx: TestContext & Pick<AlertContext, "store" | "query" | "instanceId">,
  ruleId: string,
): Promise<RuleTest> {
  const rule = await readRule(ctx.query, ruleId);
  const now = ctx.clock.now();
  const alert = testAlert(rule, ctx.ids.next("alert"), now);
  const sends = ctx.channels.list.map((channel, index) => ({
    channel,
    deliveryId: `dlv_${alert.alertId.slice("alert_".length)}_${index + 1}`,
  }));
  const leaseMs = Math.max(0, ...sends.map(({ channel }) => channel.timeoutMs)) + LEASE_MARGIN_MS;
  const holder = testHolder(ctx);
  await ctx.store.instances.hold(ctx.instanceId);
  await ctx.store.write([
    insertAlert(alert),
    ...sends.map(({ channel, deliveryId }) => ({
      sql: INSERT_DELIVERY,
      args: [deliveryId, alert.alertId, channel.name, channel.kind, now, leaseMs, leaseNow(ctx), holder],
    })),
  ]);
  const notification = describeAlert(toAlertRecord(alert), ctx.environment);
  const results = await Promise.all(sends.map(async ({ channel, deliveryId }) => {
    const result = await attemptTest(ctx, { channel, notification, deliveryId });
    await ctx.store.write([settle(result, holder, ctx.clock.now())]);
    return result;
  }));
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

function settle({ delivery_id, status, error }: TestResult, holder: string, now: number): Statement {
  return { sql: SETTLE, args: [delivery_id, status, error, now, holder] };
}
