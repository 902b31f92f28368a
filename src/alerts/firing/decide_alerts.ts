import { inArray, sql } from "drizzle-orm";
import type { Bus } from "../../bus/mod.ts";
import type { OutboxChannel } from "../../delivery/mod.ts";
import { PLAN_THRESHOLD, SEVERITIES, UNEXPLAINED_THRESHOLD } from "../../contract/values.ts";
import { HOUR_MS } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import {
  countQuiet,
  countWithoutRules,
  MOVE_COUNTERS,
  MOVE_DECIDED_COUNTERS,
  TAIL_WITH_RULES,
} from "../../ledger/mod.ts";
import { indexedBy, type ResultSet, type Statement, tables } from "../../store/mod.ts";
import { toAlertRecords } from "../alerts.ts";
import type { AlertContext } from "../context.ts";
import { DECIDED_COLUMNS } from "./firing_logic.ts";
import { markQuietCalls } from "./quiet_calls.ts";
import { type BookedScopes, warningsOf } from "../../budgets/mod.ts";
import type { AskNotifier } from "../../budgets/tickets/mod.ts";

/**
 * The maximum time by which a rule may have fired in the future without a clock having been set back: a process reads its
 * clock before its commit gets the write lock, which can take until a write's deadline, and another may fire meanwhile.
 */
const SKEW_MS = 30_000;

const IS_AHEAD = `cooldown_from > CAST(?1 AS BIGINT) + ${SKEW_MS}`;

/** SQL for the time of a pass: not before the last firing by another process, whose clock was read later. */
const TIME = `max(?1, coalesce((SELECT max(l.cooldown_from) FROM alert_rules l ${
  indexedBy("alert_rules_fired")
}
  WHERE l.enabled = 1 AND l.cooldown_from <= CAST(?1 AS BIGINT) + ${SKEW_MS}), 0))`;

/** Arms the rules whose cooldown is over. */
const ARM = `UPDATE alert_rules SET is_armed = 1
WHERE is_armed = 0 AND enabled = 1 AND is_over = 0 AND rests_until <= ${TIME}`;

/** After a clock was set back, a rule that fired in the future counts as fired now. */
const NOTICE_CLOCK =
  `UPDATE alert_rules SET cooldown_from = ?1, rests_until = CASE WHEN shape IS NULL THEN ?1 + cooldown_ms END,
  is_armed = CASE WHEN is_over = 0 AND cooldown_ms = 0 AND shape IS NULL THEN 1 ELSE 0 END
WHERE enabled = 1 AND ${IS_AHEAD}`;

/** From so many calls on it is faster to ask first whether any of them can fire a rule. */
const MIN_AT_ONCE = 16;

// The trigger `decide_call` of `firing_logic.ts` decides each of these rows.
const DECIDE = `INSERT INTO decisions (${DECIDED_COLUMNS.join(", ")}, now, alert_prefix, channels)
SELECT ${DECIDED_COLUMNS.map((column) => `c.${column}`).join(", ")}, ${TIME}, ?2, ?3
${TAIL_WITH_RULES} ORDER BY c.position`;

/**
 * Returns the statements that decide, call by call up to the end of the ledger, which rules fire: for the calls of the
 * same unit, which has so many, and those booked before by a process that had read no rule. They do nothing where no rule is
 * enabled. `readFired` reads their results.
 */
export function decideAlerts(
  ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels">,
  calls: number,
): Statement[] {
  return passOf(ctx, calls, [MOVE_DECIDED_COUNTERS]);
}

/** Returns the same statements, but they advance the counters also where no rule is enabled. */
export function advanceCounters(ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels">): Statement[] {
  return passOf(ctx, 0, [countWithoutRules(ctx.clock.now()), MOVE_COUNTERS]);
}

function passOf(
  ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels">,
  calls: number,
  move: readonly Statement[],
): Statement[] {
  const now = ctx.clock.now();
  const alertPrefix = ctx.ids.next("alert");
  return [
    { sql: NOTICE_CLOCK, args: [now] },
    { sql: ARM, args: [now] },
    ...(calls < MIN_AT_ONCE ? [] : [markQuietCalls(TIME, now), ...countQuiet(now)]),
    { sql: DECIDE, args: [now, alertPrefix, encodeChannels(ctx.outboxChannels)] },
    ...move,
    { sql: READ_FIRED, args: [alertPrefix] },
  ];
}

/** Encodes the channels for the trigger that fires an alert: `[[name, kind, rank of the lowest severity], …]`. */
function encodeChannels(channels: readonly OutboxChannel[]): string {
  return JSON.stringify(
    channels.map(({ name, kind, minSeverity }) => [name, kind, SEVERITIES.indexOf(minSeverity)]),
  );
}

// By the prefix that is unique to the pass, so that it can be repeated after a lost response.
export const READ_FIRED = "SELECT alert_id FROM alerts WHERE alert_id >= ?1 AND alert_id < ?1 || 'g'";

/** Returns the ids of the alerts that a pass fired, from the results of its statements. */
export function readFired(results: readonly ResultSet[]): string[] {
  return results.at(-1)!.rows.map(([alertId]) => alertId as string);
}

/** Wakes the dispatcher for committed alerts, and publishes `alert.triggered` for each. */
export function announceAlerts(
  ctx: AlertContext & { bus: Bus; log: Log },
  alertIds: readonly string[],
): void {
  if (alertIds.length === 0) return;
  ctx.wakeDispatcher(alertIds);
  if (ctx.bus.hasSubscribers("alert.triggered")) void publishAlerts(ctx, alertIds);
}

async function publishAlerts(
  ctx: AlertContext & { bus: Bus; log: Log },
  alertIds: readonly string[],
): Promise<void> {
  try {
    const rows = await ctx.query.select().from(tables.alerts)
      .where(inArray(tables.alerts.alertId, sql`(SELECT value FROM json_each(${JSON.stringify(alertIds)}))`))
      .orderBy(tables.alerts.position);
    for (const record of await toAlertRecords(ctx, rows)) {
      ctx.bus.publish({
        type: "alert.triggered",
        at: record.triggered_at,
        agent_id: record.agent_id ?? "",
        session_id: record.session_id,
        run_id: record.run_id,
        seq: null,
        payload: { ...record },
      });
    }
  } catch (error) {
    ctx.log.warn("Alerts could not be published on the bus", { alerts: alertIds, reason: messageOf(error) });
  }
}

/**
 * Returns the statements that write the warnings of the budgets that count booked calls. `readFired` reads their results.
 */
export function warnOfBudgets(
  ctx: Pick<AlertContext, "ids" | "outboxChannels">,
  booked: readonly BookedScopes[],
): Statement[] {
  const alertPrefix = ctx.ids.next("alert");
  return [
    warningsOf(booked, { alertPrefix, channels: encodeChannels(ctx.outboxChannels) }),
    { sql: READ_FIRED, args: [alertPrefix] },
  ];
}

/** Returns who notifies people of the tickets of budgets, whose alerts the commit of a ticket writes. */
export const askNotifier = (ctx: AlertContext & { bus: Bus; log: Log }): AskNotifier => ({
  channels: encodeChannels(ctx.outboxChannels),
  fired: (alertIds) => announceAlerts(ctx, alertIds),
});

/*
 * The alerts of rules about the windows of plans. They are decided in the commit that records a measurement, on what the windows
 * are after it; like those of other rules they are rows of `alerts`, whose triggers write the deliveries. Percentages are in the
 * columns of amounts, as 80 USD are: a billionth of a percent.
 */

/** Percentages in the columns of amounts, by the hundredths of a percent of a window. */
const NANO_PERCENT = "w.used_basis_points * 10000000";

/** The claim of a window, up to the time at which it resets, which sources repeat with a difference of seconds. */
const planOf = (of: string) =>
  `${of}.key_id || '|' || ${of}.agent || '|' || ${of}.owner || '|' || ${of}.kind || '@'`;
const PLAN = planOf("p");
const CLAIMED_RESET = `CASE WHEN substr(c."window", 1, length(${PLAN})) = ${PLAN}
  THEN CAST(substr(c."window", length(${PLAN}) + 1) AS BIGINT) END`;
/** SQL for whether `p` is the window `w`, or the same of the same account, as another machine has measured it. */
const IS_SAME = `p.key_id = w.key_id AND p.agent = w.agent AND p.kind = w.kind AND (p.owner = w.owner
    OR p.owner LIKE 'machine %' AND w.owner LIKE 'machine %' AND p.said ->> 'account' = w.said ->> 'account')`;

const FIRE_PLAN_RULES =
  `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity, value_nano_usd,
  agent_id, "window", triggered_at, channels, key_id)
SELECT ?1 || lower(hex(randomblob(6))), r.rule_id, r.name, r.threshold_type, r.threshold_nano_usd, r.severity, ${NANO_PERCENT},
  w.agent, ${planOf("w")} || w.resets_at, CAST(?2 AS BIGINT), ?3, nullif(w.key_id, '')
FROM plan_windows w JOIN alert_rules r ON r.enabled = 1 AND r.threshold_type = '${PLAN_THRESHOLD}' AND r.scope IN ('', w.agent)
WHERE w.key_id = ?4 AND w.agent = ?5 AND w.owner = ?6 AND w.resets_at > CAST(?2 AS BIGINT)
  AND ${NANO_PERCENT} >= r.threshold_nano_usd
  AND NOT EXISTS (SELECT 1 FROM plan_windows p JOIN alert_claims c ON c.rule_id = r.rule_id
    WHERE ${IS_SAME} AND ${CLAIMED_RESET} > w.resets_at - ${HOUR_MS})`;

/**
 * Returns the statements that fire the rules that the windows of a plan have reached, once for each window. `readFired` reads their
 * results. A window without a time at which it resets fires nothing.
 */
export function firePlanRules(
  ctx: Pick<AlertContext, "ids" | "outboxChannels">,
  { keyId, agent, owner }: { keyId: string; agent: string; owner: string },
  now: number,
): Statement[] {
  const alertPrefix = ctx.ids.next("alert");
  return [
    {
      sql: FIRE_PLAN_RULES,
      args: [alertPrefix, now, encodeChannels(ctx.outboxChannels), keyId, agent, owner],
    },
    { sql: READ_FIRED, args: [alertPrefix] },
  ];
}

/** SQL for what an alert `a` about the comparison `c` of a bill is about, after the id of its comparison: of its source, month and account. */
const COMPARED = `'|' || c.source || '|' || c.month || '|' || c.account`;

// Once for each amount: while the same one stays unexplained, its alert is open.
const FIRE_UNEXPLAINED =
  `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity, value_nano_usd, "window", triggered_at, channels)
SELECT ?1 || lower(hex(randomblob(6))), r.rule_id, r.name, r.threshold_type, r.threshold_nano_usd, r.severity, c.unexplained_nano_usd,
  c.reconciliation_id || ${COMPARED}, CAST(?2 AS BIGINT), ?3
FROM reconciliations c JOIN alert_rules r ON r.enabled = 1 AND r.threshold_type = '${UNEXPLAINED_THRESHOLD}'
WHERE c.reconciliation_id = ?4 AND c.unexplained_nano_usd > r.threshold_nano_usd AND NOT EXISTS (SELECT 1 FROM alerts a
  WHERE a.rule_id = r.rule_id AND a.resolved_at IS NULL AND a.is_test = 0 AND a.value_nano_usd = c.unexplained_nano_usd
    AND substr(a."window", instr(a."window", '|')) = ${COMPARED})`;

/** Fires the rules that a comparison of a bill leaves more unexplained than their amount, once until it leaves another one. */
export async function fireUnexplained(
  ctx: AlertContext & { bus: Bus; log: Log },
  reconciliationId: string,
): Promise<void> {
  const [now, alertPrefix] = [ctx.clock.now(), ctx.ids.next("alert")];
  const args = [alertPrefix, now, encodeChannels(ctx.outboxChannels), reconciliationId];
  const results = await ctx.store.write([
    { sql: FIRE_UNEXPLAINED, args },
    { sql: READ_FIRED, args: [alertPrefix] },
  ]);
  announceAlerts(ctx, readFired(results));
}
