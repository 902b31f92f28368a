import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { readFigures } from "../../budgets/mod.ts";
import type { AlertDetail } from "../../contract/alerts/alerts.ts";
import {
  type AlertEvent,
  ASK_THRESHOLD,
  isOfCalls,
  type ThresholdType,
  UNEXPLAINED_THRESHOLD,
} from "../../contract/values.ts";
import { periodOf } from "../../contract/windows.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { ALL_SEEING } from "../../ledger/mod.ts";
import { type Author, ConstraintError, requireThat, type Statement, tables } from "../../store/mod.ts";
import { type AlertRow, scopeOfWarning, toAlertRecords, windowEndOf } from "../alerts.ts";
import type { AlertContext } from "../context.ts";
import { explainAlert } from "../explain_alert.ts";
import { readMeasured } from "../rules/rules.ts";

/*
 * The states of an alert after it has fired: a person acknowledges it, and its cause ends. An alert is over when facts say so: its
 * window has ended, the spending is below the threshold, or its rule or budget is gone. Instances look for such alerts, and one of them
 * writes that an alert is resolved, in the commit that writes the deliveries.
 */

const { alertRules, alerts, budgets } = tables;

/** The windows of runs and sessions have no end, and what they spent doesn't fall: their alerts are resolved after this time. */
const ONE_OFF_MS = DAY_MS;
const ONE_OFF = ["run", "session", "tree"];

/** SQL for whether an alert `n` is about the same window of the same rule as an alert `a`. */
const IS_SAME = `n.rule_id = a.rule_id AND n.is_test = 0
  AND coalesce(n."window", '') = coalesce(a."window", '') AND coalesce(n.scope, '') = coalesce(a.scope, '')`;

/** SQL for whether a delivery of an alert `a` still has to tell that it fires, in a channel that would be told more. */
const isUntold = (channels: string) =>
  `EXISTS (SELECT 1 FROM deliveries p WHERE p.subject_id = a.alert_id AND p.event IS NULL
  AND p.status = 'pending' AND p.channel IN (SELECT value FROM json_each(${channels})))`;

// Once for each channel that has told of the alert; of its repetitions only the newest.
const TELL = `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, event, due_at, created_at)
SELECT min(d.delivery_id) || '_' || CAST(?1 AS TEXT), d.subject_id, d.channel, min(d.kind), ?1, CAST(?2 AS BIGINT), CAST(?2 AS BIGINT)
FROM alerts a JOIN deliveries d ON d.subject_id = a.alert_id
WHERE a.alert_id IN (SELECT value FROM json_each(?3)) AND a.resolved_at IS NULL AND d.event IS NULL
  AND d.status = 'delivered' AND d.channel IN (SELECT value FROM json_each(?4)) AND NOT ${isUntold("?4")}
  AND NOT EXISTS (SELECT 1 FROM alerts n WHERE ${IS_SAME} AND n.position > a.position)
GROUP BY d.subject_id, d.channel ON CONFLICT DO NOTHING`;

/** Returns the statement that tells channels with `send_resolved` what has happened to alerts. */
function tell(
  { outboxChannels }: Pick<AlertContext, "outboxChannels">,
  event: AlertEvent,
  alertIds: readonly string[],
  now: number,
): Statement {
  const channels = outboxChannels.filter(({ sendResolved }) => sendResolved).map(({ name }) => name);
  return { sql: TELL, args: [event, now, JSON.stringify(alertIds), JSON.stringify(channels)] };
}

const RESOLVE = `UPDATE alerts AS a SET resolved_at = CAST(?1 AS BIGINT)
WHERE a.resolved_at IS NULL AND a.alert_id IN (SELECT value FROM json_each(?2)) AND NOT ${isUntold("?3")}`;

/** Resolves the alerts that are over, and tells the channels. Any number of instances may do so at once. */
export async function resolveAlerts(ctx: Omit<AlertContext, "rules">): Promise<void> {
  const now = ctx.clock.now();
  const open = await ctx.query.select().from(alerts)
    .where(and(isNull(alerts.resolvedAt), eq(alerts.isTest, false)));
  if (open.length === 0) return;
  const over = (await findOver(ctx, open, now)).map(({ alertId }) => alertId);
  if (over.length === 0) return;
  const told = tell(ctx, "resolved", over, now);
  await ctx.store.write([told, { sql: RESOLVE, args: told.args!.slice(1) }]);
  ctx.wakeDispatcher(over);
}

// The latest comparison of their bill leaves another amount unexplained, or no more than the threshold of today.
const EXPLAINED = `SELECT a.alert_id FROM alerts a JOIN alert_rules r ON r.rule_id = a.rule_id
JOIN reconciliations c ON c.reconciliation_id = substr(a."window", 1, instr(a."window", '|') - 1)
JOIN reconciliations n ON n.source = c.source AND n.account = c.account AND n.month = c.month
WHERE a.threshold_type = '${UNEXPLAINED_THRESHOLD}' AND a.resolved_at IS NULL
  AND (n.unexplained_nano_usd <> a.value_nano_usd OR n.unexplained_nano_usd <= r.threshold_nano_usd)
  AND NOT EXISTS (SELECT 1 FROM reconciliations l WHERE l.source = n.source AND l.account = n.account AND l.month = n.month
    AND (l.created_at, l.reconciliation_id) > (n.created_at, n.reconciliation_id))`;

/** Returns the alerts that are over at a time. */
async function findOver(
  ctx: Pick<AlertContext, "query" | "store" | "clock">,
  open: readonly AlertRow[],
  now: number,
): Promise<AlertRow[]> {
  const sources = sql`(SELECT value FROM json_each(${JSON.stringify(open.map(({ ruleId }) => ruleId))}))`;
  const [explained, rules, limits, records] = await Promise.all([
    ctx.store.read({ sql: EXPLAINED }).then(({ rows }) => rows.flat()),
    ctx.query.select().from(alertRules).where(inArray(alertRules.ruleId, sources)),
    ctx.query.select().from(budgets).where(inArray(budgets.budgetId, sources)),
    toAlertRecords(ctx, open),
  ]);
  const ruleOf = new Map(rules.map((rule) => [rule.ruleId, rule]));
  const budgetOf = new Map(limits.map((budget) => [budget.budgetId, budget]));
  const over = open.filter((row, index) => {
    const { alertId, ruleId, thresholdType: type, triggeredAt } = row;
    const budget = budgetOf.get(ruleId);
    const source = budget ?? ruleOf.get(ruleId);
    if (!source?.enabled || records[index]!.state === "resolved") return true;
    const isOtherRule = !budget && ruleOf.get(ruleId)!.thresholdType !== type;
    if (!isOfCalls(type)) return isOtherRule || explained.includes(alertId);
    const per = periodOf(type);
    const isChanged = budget ? budget.per !== per : isOtherRule;
    return isChanged || ONE_OFF.includes(per) && triggeredAt + ONE_OFF_MS <= now;
  });
  // The others are over if what they measure is below the threshold of today.
  const left = open.filter((row) => !over.includes(row));
  const warnings = left.flatMap((row) => {
    const budget = budgetOf.get(row.ruleId);
    return budget && row.thresholdType !== ASK_THRESHOLD ? [{ row, budget }] : [];
  });
  const fired = left.flatMap((row) => {
    const rule = ruleOf.get(row.ruleId);
    const type = row.thresholdType as ThresholdType;
    const isMeasured = rule && windowEndOf(row) !== null && isOfCalls(type) ||
      type === "per_hour_usd";
    const scope = row.scope ?? rule?.scope;
    return rule && isMeasured
      ? [{ row, rule, scope: scope!, each: null, shape: null, calendar: row.calendar, thresholdType: type }]
      : [];
  });
  const [figures, values] = await Promise.all([
    readFigures(ctx, warnings.map(({ row, budget }) => ({ row: budget, scope: scopeOfWarning(row) })), now),
    readMeasured(ctx, fired, now),
  ]);
  return [
    ...over,
    ...warnings.flatMap(({ row, budget }, index) => {
      const { spentNanoUsd, extraNanoUsd } = figures[index]!;
      const limit = budget.limitNanoUsd + extraNanoUsd;
      // A forecast is over once the limit is raised; a warning once less than its share of the limit is spent.
      const isBelow = records[open.indexOf(row)]!.reaches_at !== undefined
        ? limit > row.budgetLimitNanoUsd!
        : spentNanoUsd * row.budgetLimitNanoUsd! < row.thresholdNanoUsd * limit;
      return isBelow ? [row] : [];
    }),
    ...fired.filter(({ rule }, index) => (values[index]?.nanoUsd ?? 0n) < rule.thresholdNanoUsd)
      .map(({ row }) => row),
  ];
}

const ACKNOWLEDGE =
  `UPDATE alerts AS n SET acknowledged_at = CAST(?2 AS BIGINT), acknowledged_by = ?3, note = ?4
WHERE n.resolved_at IS NULL AND n.acknowledged_at IS NULL
  AND EXISTS (SELECT 1 FROM alerts a WHERE a.alert_id = ?1 AND ${IS_SAME})`;

/*
 * A rule whose alert is acknowledged is quiet as if it fired once per window: for its run, session, day or month by a claim, and for
 * the hour until its spending has fallen below the threshold.
 */
const CLAIM_WINDOW = `INSERT INTO alert_claims (rule_id, "window")
SELECT a.rule_id, a."window" FROM alerts a JOIN alert_rules r ON r.rule_id = a.rule_id
WHERE a.alert_id = ?1 AND a."window" IS NOT NULL ON CONFLICT DO NOTHING`;
const REST_HOUR = `UPDATE alert_rules SET is_over = 1, is_armed = 0
WHERE shape IS NULL AND threshold_type = 'per_hour_usd' AND rule_id = (SELECT rule_id FROM alerts WHERE alert_id = ?1)`;
const REST_COUNTER = `UPDATE alert_rule_counters SET is_over = 1
WHERE EXISTS (SELECT 1 FROM alerts a JOIN alert_rules r ON r.rule_id = a.rule_id WHERE a.alert_id = ?1
  AND r.threshold_type = 'per_hour_usd' AND a.rule_id = alert_rule_counters.rule_id AND a.scope = alert_rule_counters.scope)`;

/**
 * Acknowledges an alert, and those of the same window before it: its rule fires for that window no more. Throws `not_found`, and
 * `conflict` if it is acknowledged or resolved.
 */
export async function acknowledgeAlert(
  ctx: Omit<AlertContext, "rules"> & { author: Author },
  alertId: string,
  note?: string,
): Promise<AlertDetail> {
  const alert = await explainAlert(ctx, alertId);
  const refuse = ({ state, acknowledged_by: by }: Pick<AlertDetail, "state" | "acknowledged_by">) =>
    new PurserError(
      "conflict",
      `Cannot acknowledge alert ${alertId}: it is ${state}${
        state === "acknowledged" && by !== undefined ? ` by ${by}` : ""
      } already`,
    );
  if (alert.state !== "firing") throw refuse(alert);
  const now = ctx.clock.now();
  const isOpen =
    "EXISTS (SELECT 1 FROM alerts WHERE alert_id = ?1 AND acknowledged_at IS NULL AND resolved_at IS NULL)";
  try {
    await ctx.store.write([
      requireThat({ sql: isOpen, args: [alertId] }),
      { sql: ACKNOWLEDGE, args: [alertId, now, ctx.author.name ?? null, note ?? null] },
      ...[CLAIM_WINDOW, REST_HOUR, REST_COUNTER].map((sql) => ({ sql, args: [alertId] })),
      tell(ctx, "acknowledged", [alertId], now),
    ]);
  } catch (error) {
    throw error instanceof ConstraintError ? refuse(await explainAlert(ctx, alertId)) : error;
  }
  ctx.wakeDispatcher([alertId]);
  return await explainAlert(ctx, alertId, ALL_SEEING);
}
