import { testAllChannels, type TestContext, type TestResult } from "../delivery/mod.ts";
import type { SqlValue, Statement } from "../store/mod.ts";
import { toAlertRecord } from "./alert_record.ts";
import type { AlertContext } from "./context.ts";
import { describeAlert } from "./describe_alert.ts";
import { readRule } from "./rules/read_rules.ts";
import type { RuleRow } from "./rules/rule.ts";

/** The results of testing a rule. */
export interface RuleTest {
  alert_id: string;
  /** In the order of the config. */
  results: TestResult[];
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
