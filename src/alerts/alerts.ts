import { and, asc, desc, eq, exists, inArray, isNotNull, lte, or, sql } from "drizzle-orm";
import type { Alert, AlertDelivery, AlertPlanWindow } from "../contract/alerts/alerts.ts";
import { DIMENSIONS, NAMED, nameIn, nameOfValue } from "../contract/costs/dimensions.ts";
import { type BudgetThreshold, PLAN_THRESHOLD, type ThresholdType } from "../contract/values.ts";
import type { Fact, Notification } from "../delivery/channels/mod.ts";
import { formatUsd, parseTotalUsd, toUsd } from "../kernel/money.ts";
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
import { MAX_ALERT_HISTORY } from "../contract/limits.ts";
import { timeIn } from "../contract/calendars/zones.ts";
import { calendarIn } from "../contract/windows.ts";
import { toIso } from "../kernel/clock.ts";

/** An alert in wire form, without its deliveries. */
export type AlertRecord = Omit<Alert, "deliveries">;

export type AlertRow = typeof tables.alerts.$inferSelect;

type ReadContext = Pick<AlertContext, "query"> & { store: Pick<AlertContext["store"], "read"> };

/** Returns the scope of the counter of a budget that warns, with which the claim of its window begins. */
export function scopeOfWarning(
  { budgetLimitNanoUsd, window }: Pick<AlertRow, "budgetLimitNanoUsd" | "window">,
): string | undefined {
  return budgetLimitNanoUsd === null ? undefined : window?.slice(0, window.lastIndexOf("@"));
}

/** The columns of an alert that its record is made of. */
export type RecordedRow =
  & Omit<AlertRow, "position" | "channels" | "callPosition" | Exclude<keyof Scopes, "agentId">>
  & { [Property in keyof Scopes]?: string | null };

/** Converts rows to their wire form. A viewer of one agent is shown no key but its own. */
export async function toAlertRecords(
  { store }: { store: Pick<AlertContext["store"], "read"> },
  rows: readonly RecordedRow[],
  viewer: Viewer = ALL_SEEING,
): Promise<AlertRecord[]> {
  const records = await withNames({ store }, rows.map((row) => toAlertRecord(row, viewer)));
  return records.map((record, index) => {
    const { counter } = record;
    if (counter?.kind !== "calls") return record;
    const scope = scopeOfWarning(rows[index]!) ?? rows[index]!.scope!;
    return { ...record, counter: { ...counter, id: scopeText(scope, record.key_name ?? undefined) } };
  });
}

export function toAlertRecord(row: RecordedRow, viewer: Viewer): AlertRecord {
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
    ...(counter && { counter }),
    ...(row.budgetLimitNanoUsd !== null && { limit_usd: toUsd(row.budgetLimitNanoUsd) }),
  };
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
  { query, store }: ReadContext,
  rows: readonly AlertRow[],
  viewer: Viewer,
): Promise<Alert[]> {
  const history = new Map<string, Alert>();
  for (const record of await toAlertRecords({ store }, rows, viewer)) {
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
  };
}

const SPENT: Record<ThresholdType | BudgetThreshold, string> = {
  budget_per_run_usd: "spent in one run",
  budget_per_session_usd: "spent in one session",
  budget_per_tree_usd: "spent in one session with its sub-agents",
  budget_per_hour_usd: "spent in the last hour",
  budget_per_day_usd: "spent today (UTC)",
  budget_per_week_usd: "spent this week (UTC)",
  budget_per_month_usd: "spent this month (UTC)",
  budget_per_quarter_usd: "spent this quarter (UTC)",
  budget_per_30d_usd: "spent in the last 30 days",
  budget_per_lifetime_usd: "spent in all",
  per_run_usd: "spent in one run",
  per_session_usd: "spent in one session",
  per_hour_usd: "spent in the last hour",
  per_day_usd: "spent today (UTC)",
  per_month_usd: "spent this month (UTC)",
};

/** Reads the notification of an alert; undefined if there is no alert of that id. */
export async function readAlertNotification(
  ctx: ReadContext & { environment: string },
  alertId: string,
): Promise<Notification | undefined> {
  const [row] = await ctx.query.select().from(tables.alerts).where(eq(tables.alerts.alertId, alertId));
  return row && describeAlert((await toAlertRecords(ctx, [row]))[0]!, ctx.environment);
}

/** Names the counter of a budget or a rule: `, key bob`; nothing where it has one over all calls. */
function nameCounter(record: AlertRecord): string {
  const { counter, threshold_type } = record;
  if (!counter) return "";
  if (counter.kind === "calls") return `, ${counter.id}`;
  if (counter.kind.startsWith("tag:")) return `, tag ${counter.kind.slice(4)}=${counter.id}`;
  const isOneOfMany = threshold_type === "budget_per_run_usd" || threshold_type === "budget_per_session_usd";
  if (isOneOfMany && (counter.kind === "run" || counter.kind === "session")) return "";
  return `, ${counter.kind} ${nameOfValue(counter, record)}`;
}

/** Returns the notification of a rule that fired, or is tested. */
export function describeAlert(record: AlertRecord, environment: string): Notification {
  const { title, facts } = record.threshold_type === PLAN_THRESHOLD
    ? describePlanAlert(record)
    : describeSpending(record, record.threshold_type);
  facts.push({ label: "Alert", value: record.alert_id });
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

function describeSpending(
  record: AlertRecord,
  type: ThresholdType | BudgetThreshold,
): Pick<Notification, "title"> & { facts: Fact[] } {
  const spent = SPENT[type].replace("UTC", record.time_zone ?? "UTC");
  const { limit_usd: limit, threshold_usd, value_usd } = record;
  const value = `$${usd(value_usd!)}`;
  const threshold = limit === undefined
    ? `$${usd(threshold_usd!)}`
    : `${share(threshold_usd!, limit)}% of $${usd(limit)}`;
  const title = record.test
    ? `Test of alert rule ${record.rule_name}: nothing was spent`
    : limit === undefined
    ? `${record.rule_name}${nameCounter(record)}: ${value} ${spent}, threshold ${threshold}`
    : `Budget ${record.rule_name}${nameCounter(record)}: ${value} ${spent}, ${threshold} reached`;
  const facts: Fact[] = [{ label: limit === undefined ? "Rule" : "Budget", value: record.rule_name }];
  const add = (label: string, fact: string | null) => {
    if (fact !== null) facts.push({ label, value: fact });
  };
  if (record.test) add("Test", "this checks that the channel works");
  else add("Spent", `${value} ${spent.replace(/^spent /, "")}`);
  add(limit === undefined ? "Threshold" : "Warning at", threshold);
  const { time_zone: zone = "UTC", window_start: start } = record;
  add("Since", start === null || zone === "UTC" ? start : timeIn(zone, Date.parse(start)));
  // The agent of the call that crossed the threshold; the spend of a time window may be that of all agents.
  add("Last call by", record.agent_id);
  for (const kind of NAMED) add(kind[0]!.toUpperCase() + kind.slice(1), nameIn(record, kind) ?? null);
  add("Session", record.session_id);
  add("Run", record.run_id);
  return { title, facts };
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

/** Returns the title and the facts of an alert about a plan. */
function describePlanAlert(
  { rule_name, value_pct, threshold_pct, plan_window: plan, test }: {
    rule_name: string;
    value_pct?: number | undefined;
    threshold_pct?: number | undefined;
    plan_window?: AlertPlanWindow | undefined;
    test: boolean;
  },
): { title: string; facts: Fact[] } {
  const facts: Fact[] = [{ label: "Rule", value: rule_name }];
  const threshold = { label: "Threshold", value: `${threshold_pct}%` };
  if (test || !plan) {
    facts.push({ label: "Test", value: "this checks that the channel works" }, threshold);
    return { title: `Test of alert rule ${rule_name}: nothing was measured`, facts };
  }
  facts.push({ label: "Used", value: `${value_pct}%` }, threshold, { label: "Plan", value: plan.agent_id });
  if (plan.machine !== null) facts.push({ label: "Machine", value: plan.machine });
  if (plan.provider !== null) facts.push({ label: "Provider", value: plan.provider });
  facts.push({ label: "Window", value: plan.window }, { label: "Resets at", value: plan.resets_at });
  return {
    title:
      `${rule_name}: ${value_pct}% of the ${plan.window} window of the ${plan.agent_id} plan used, threshold ${threshold_pct}%`,
    facts,
  };
}

/** Returns the share of a limit in percent, rounded to a tenth. */
function share(threshold: number, limit: number): number {
  return limit === 0 ? 100 : Math.round(threshold / limit * 1000) / 10;
}

function usd(value: number): string {
  return formatUsd(parseTotalUsd(value));
}
