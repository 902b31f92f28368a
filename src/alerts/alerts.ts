import { and, asc, desc, eq, exists, inArray, isNotNull, lte, or, sql } from "drizzle-orm";
import type { Alert, AlertDelivery, AlertPlanWindow } from "../contract/alerts/alerts.ts";
import { DIMENSIONS, NAMED } from "../contract/costs/dimensions.ts";
import {
  type AlertEvent,
  ASK_THRESHOLD,
  isOfCalls,
  PLAN_THRESHOLD,
  UNEXPLAINED_THRESHOLD,
} from "../contract/values.ts";
import type { Notification } from "../delivery/channels/mod.ts";
import { sha256Hex } from "../kernel/encoding.ts";
import { toUsd } from "../kernel/money.ts";
import { withNames } from "../keys/mod.ts";
import {
  ALL_SEEING,
  counterIn,
  entityOf,
  scopeBy,
  type Scopes,
  scopeText,
  type Viewer,
} from "../ledger/mod.ts";
import { tables } from "../store/mod.ts";
import type { AlertContext } from "./context.ts";
import { describeAlert } from "./describe_alert.ts";
import { readLargest } from "./explain_alert.ts";
import { MAX_ALERT_HISTORY } from "../contract/limits.ts";
import { calendarIn, periodOf, windowOf } from "../contract/windows.ts";
import { toIso } from "../kernel/clock.ts";

/** An alert in wire form, without its deliveries. */
export type AlertRecord = Omit<Alert, "deliveries">;

export type AlertRow = typeof tables.alerts.$inferSelect;

type ReadContext = Pick<AlertContext, "query" | "clock"> & { store: Pick<AlertContext["store"], "read"> };

/** Returns the scope of the counter of a budget that warns, with which the claim of its window begins. */
export function scopeOfWarning(
  { budgetLimitNanoUsd, window }: Pick<AlertRow, "budgetLimitNanoUsd" | "window">,
): string | undefined {
  return budgetLimitNanoUsd === null ? undefined : window?.slice(0, window.lastIndexOf("@"));
}

/** The columns of an alert that its record is made of. */
export type RecordedRow =
  & Omit<
    AlertRow,
    "position" | "channels" | "callPosition" | Exclude<keyof Scopes, "agentId"> | StateColumn
  >
  & { [Property in keyof Scopes]?: string | null }
  & Partial<Pick<AlertRow, StateColumn>>;

type StateColumn = "acknowledgedAt" | "acknowledgedBy" | "note" | "resolvedAt";

/** Converts rows to their wire form. A viewer of one agent is shown no key but its own. */
export async function toAlertRecords(
  ctx: ReadContext,
  rows: readonly RecordedRow[],
  viewer: Viewer = ALL_SEEING,
): Promise<AlertRecord[]> {
  const ticketIds = rows.flatMap((row) => ticketOf(row) ?? []);
  const records = await withNames(ctx, rows.map((row) => toAlertRecord(row, viewer, ctx.clock.now())));
  const tickets = ticketIds.length === 0 ? [] : await (await import("../budgets/tickets/mod.ts"))
    .listTickets(ctx, { reader: { viewer }, ticketIds, limit: ticketIds.length });
  const byId = new Map(tickets.map((ticket) => [ticket.ticket_id, ticket]));
  return records.map((record, index) => {
    const row = rows[index]!;
    const { counter } = record;
    const approval = byId.get(ticketOf(row) ?? "");
    return {
      ...record,
      ...(counter?.kind === "calls" && {
        counter: {
          ...counter,
          id: scopeText(scopeOfWarning(row) ?? row.scope!, record),
        },
      }),
      ...(approval && { approval, state: approval.state === "waiting" ? record.state : "resolved" }),
    };
  });
}

/** Returns the ticket that an alert notifies of; undefined of others, and of a test. */
function ticketOf(
  { thresholdType, window }: Pick<RecordedRow, "thresholdType" | "window">,
): string | undefined {
  return thresholdType === ASK_THRESHOLD && window !== null
    ? window.slice(window.lastIndexOf("@") + 1, -1)
    : undefined;
}

/** Returns when the window of an alert ends; null where it has no end, or moves with the clock. */
export function windowEndOf({ thresholdType, windowStart, window, calendar }: RecordedRow): number | null {
  if (thresholdType === PLAN_THRESHOLD) {
    const plan = planWindowOf(window);
    return plan ? Date.parse(plan.resets_at) : null;
  }
  if (!isOfCalls(thresholdType) || windowStart === null) return null;
  return windowOf(periodOf(thresholdType), windowStart, null, calendarIn(calendar)).resetsAt;
}

/** Returns the state of an alert at a time, and its changes; who acknowledged it is shown to those who see all spending. */
function stateOf(row: RecordedRow, now: number, { seesAll }: Viewer) {
  const { acknowledgedAt, acknowledgedBy, note, resolvedAt, isTest } = row;
  const isOver = isTest || resolvedAt != null || (windowEndOf(row) ?? Infinity) <= now;
  return {
    state: isOver ? "resolved" : acknowledgedAt != null ? "acknowledged" : "firing",
    ...(acknowledgedAt != null && { acknowledged_at: toIso(acknowledgedAt) }),
    ...(acknowledgedBy != null && seesAll && { acknowledged_by: acknowledgedBy }),
    ...(note != null && seesAll && { note }),
    ...(resolvedAt != null && { resolved_at: toIso(resolvedAt) }),
  } as const;
}

export function toAlertRecord(row: RecordedRow, viewer: Viewer, now: number): AlertRecord {
  const counter = counterIn(scopeOfWarning(row) ?? row.scope ?? "");
  const named = NAMED.flatMap((kind) => {
    const { field, property, nameField } = DIMENSIONS[kind];
    // Alerts of earlier versions don't have the key of their call; of a budget of keys the counter names it.
    const id = row[property] ?? (counter?.kind === kind ? counter.id : undefined);
    return id !== undefined && viewer.sees({ [property]: id }) ? [[field, id], [nameField, null]] : [];
  });
  return {
    alert_id: row.alertId,
    rule_id: row.ruleId,
    rule_name: row.ruleName,
    threshold_type: row.thresholdType,
    severity: row.severity,
    ...measuredOf(row),
    agent_id: row.agentId,
    ...Object.fromEntries(named),
    session_id: row.sessionId ?? null,
    run_id: row.runId ?? null,
    window_start: row.windowStart === null ? null : toIso(row.windowStart),
    ...(row.calendar !== null && { time_zone: calendarIn(row.calendar).timeZone }),
    triggered_at: toIso(row.triggeredAt),
    test: row.isTest,
    ...stateOf(row, now, viewer),
    ...(counter && { counter }),
    ...reachesAtOf(row),
    ...billOf(row),
    ...(row.budgetLimitNanoUsd !== null && { limit_usd: toUsd(row.budgetLimitNanoUsd) }),
  };
}

/** Returns the bill that an alert is about, by its claim; nothing of others, and of a test. */
function billOf({ thresholdType, window }: RecordedRow): Pick<AlertRecord, "bill"> {
  if (thresholdType !== UNEXPLAINED_THRESHOLD || window === null) return {};
  const [reconciliation_id, source, month, ...account] = window.split("|") as [string, string, string];
  return { bill: { reconciliation_id, source, month, account: account.join("|") || null } };
}

/** Returns whether a budget forecasts that its limit will be reached: see `warningsOf()`. */
export const isForecast = (
  { budgetLimitNanoUsd, window }: Pick<RecordedRow, "budgetLimitNanoUsd" | "window">,
) => budgetLimitNanoUsd !== null && window?.endsWith("#0000") === true;

/** Returns when a limit is reached at the mean pace of its window, of a forecast. */
function reachesAtOf(row: RecordedRow): { reaches_at?: string } {
  const { windowStart, triggeredAt, budgetLimitNanoUsd, valueNanoUsd } = row;
  if (!isForecast(row) || windowStart === null || valueNanoUsd <= 0n) return {};
  const elapsedMs = BigInt(triggeredAt - windowStart);
  return { reaches_at: toIso(windowStart + Number(budgetLimitNanoUsd! * elapsedMs / valueNanoUsd)) };
}

/** Returns the threshold and the value of an alert in the unit of its type. */
function measuredOf({ thresholdType, thresholdNanoUsd, valueNanoUsd, window }: RecordedRow) {
  const [threshold, value] = [toUsd(thresholdNanoUsd), toUsd(valueNanoUsd)];
  if (thresholdType !== PLAN_THRESHOLD) return { threshold_usd: threshold, value_usd: value };
  const plan = planWindowOf(window);
  const percentages = { threshold_pct: threshold, value_pct: value };
  return { threshold_usd: null, value_usd: null, ...percentages, ...plan && { plan_window: plan } };
}

const { alertRules, alerts, budgets, deliveries } = tables;

/**
 * Lists the latest alerts that a viewer may see, newest first, each with its deliveries; for one of a single agent without the
 * names of the operator's channels and their errors, which name hosts.
 */
export async function listAlerts(
  ctx: ReadContext,
  { limit = MAX_ALERT_HISTORY, viewer = ALL_SEEING }: { limit?: number; viewer?: Viewer } = {},
): Promise<Alert[]> {
  const rows = await ctx.query.select().from(alerts).where(isSeenBy(ctx.query, viewer))
    .orderBy(desc(alerts.position)).limit(limit);
  return await withDeliveries(ctx, rows, viewer);
}

/** Returns one alert of the history, with its row; undefined if it doesn't exist or the viewer may not see it. */
export async function findAlert(
  ctx: ReadContext,
  alertId: string,
  viewer: Viewer,
): Promise<{ row: AlertRow; alert: Alert } | undefined> {
  const [row] = await ctx.query.select().from(alerts)
    .where(and(eq(alerts.alertId, alertId), isSeenBy(ctx.query, viewer)));
  return row && { row, alert: (await withDeliveries(ctx, [row], viewer))[0]! };
}

async function withDeliveries(
  ctx: ReadContext,
  rows: readonly AlertRow[],
  viewer: Viewer,
): Promise<Alert[]> {
  const { query } = ctx;
  const history = new Map<string, Alert>();
  for (const record of await toAlertRecords(ctx, rows, viewer)) {
    history.set(record.alert_id, { ...record, deliveries: [] });
  }
  if (rows.length > 0) {
    const ids = JSON.stringify([...history.keys()]);
    const sent = await query.select().from(deliveries)
      .where(sql`${deliveries.subjectId} IN (SELECT value FROM json_each(${ids}))`)
      // Their ids are numbered in the order of the channels: `…_2` comes before `…_10`.
      .orderBy(asc(sql`length(${deliveries.deliveryId})`), asc(deliveries.deliveryId));
    for (const row of sent) {
      const delivery = toDeliveryRecord(row);
      const shown = viewer.seesAll ? delivery : { ...delivery, channel: "", last_error: null };
      history.get(row.subjectId)!.deliveries.push(shown);
    }
  }
  return [...history.values()];
}

/**
 * Matches alerts about the spend of one agent alone: of its runs and sessions, of its rules, and of its own counters of
 * budgets; undefined for a viewer of all. A rule may have been about all agents before it was changed, so only its later
 * alerts match.
 */
export function isSeenBy(query: AlertContext["query"], { agentId, scopes }: Viewer) {
  if (agentId === undefined) return undefined;
  const ownRule = query.select({ one: sql`1` }).from(alertRules).where(and(
    eq(alertRules.ruleId, alerts.ruleId),
    eq(alertRules.scope, agentId),
    lte(alertRules.updatedAt, alerts.triggeredAt),
  ));
  const ofRunOrSession = inArray(alerts.thresholdType, [
    "per_run_usd",
    "per_session_usd",
    "budget_per_run_usd",
    "budget_per_session_usd",
  ]);
  const ownBudget = query.select({ one: sql`1` }).from(budgets).where(and(
    eq(budgets.budgetId, alerts.ruleId),
    eq(budgets.scope, agentId),
    lte(budgets.updatedAt, alerts.triggeredAt),
  ));
  const isOwnCounter = (scope: string) =>
    and(
      isNotNull(alerts.budgetLimitNanoUsd),
      sql`substr(${alerts.window}, 1, ${scope.length + 1}) = ${scope + "@"}`,
    );
  return or(
    and(eq(alerts.agentId, agentId), or(ofRunOrSession, exists(ownRule), exists(ownBudget))),
    ...scopes.map(isOwnCounter),
    inArray(
      alerts.scope,
      scopes.map((scope) => scopeBy([[entityOf(scope)!.kind as "key", entityOf(scope)!.id]])),
    ),
  );
}

function toDeliveryRecord(row: typeof deliveries.$inferSelect): AlertDelivery {
  const { status, settledAt } = row;
  return {
    delivery_id: row.deliveryId,
    channel: row.channel,
    kind: row.kind,
    status,
    attempts: row.attempts,
    last_error: row.lastError,
    delivered_at: status === "delivered" && settledAt !== null ? toIso(settledAt) : null,
    ...(row.event !== null && { event: row.event }),
  };
}

/** Reads the notification of an alert, or of what has happened to it since; undefined if there is no alert of that id. */
export async function readAlertNotification(
  ctx: ReadContext & { environment: string; store: Pick<AlertContext["store"], "read" | "readLong"> },
  alertId: string,
  event: string | null = null,
): Promise<Notification | undefined> {
  const [row] = await ctx.query.select().from(tables.alerts).where(eq(tables.alerts.alertId, alertId));
  if (!row) return undefined;
  const [[record], largest] = await Promise.all([
    toAlertRecords(ctx, [row]),
    isForecast(row) ? readLargest(ctx, row) : undefined,
  ]);
  return describeAlert(record!, ctx.environment, {
    largest,
    incident: await incidentOf(row),
    event: event as AlertEvent | null,
  });
}

/** Returns what an alert is about, for services that have incidents: its repetitions are of the same. */
async function incidentOf({ ruleId, window, scope }: AlertRow): Promise<string> {
  return `${ruleId}-${(await sha256Hex(window ?? scope ?? "")).slice(0, 32)}`;
}

/** Returns the window that an alert is about, by its claim; undefined of a test. */
function planWindowOf(claim: string | null): AlertPlanWindow | undefined {
  const [, agent, what, name, window, resetsAt] =
    /^[^|]*\|([^|]*)\|(machine|provider) (.*)\|([^|]*)@(\d+)$/s.exec(claim ?? "") ?? [];
  if (agent === undefined || window === undefined) return undefined;
  return {
    agent_id: agent,
    machine: what === "machine" ? name! : null,
    provider: what === "provider" ? name! : null,
    window,
    resets_at: toIso(Number(resetsAt)),
  };
}
