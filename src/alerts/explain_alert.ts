import { and, desc, eq, lt } from "drizzle-orm";
import type { AlertDetail } from "../contract/alerts/alerts.ts";
import type { AlertCause, AlertCauses, OtherCauses } from "../contract/alerts/alert_causes.ts";
import type { CostRow } from "../contract/costs.ts";
import type { Subject } from "../contract/budgets/subjects.ts";
import { type Dimension, DIMENSIONS, NAMED, type NameFields, nameIn } from "../contract/costs/dimensions.ts";
import { isOfCalls } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { type NanoUsd, parseTotalUsd, toUsd } from "../kernel/money.ts";
import {
  ALL_SEEING,
  type CostScope,
  entityOf,
  type IndexedCalls,
  isScopeBy,
  listCosts,
  listTopCosts,
  readCostTotal,
  readRunUsage,
  readSessionUsage,
  readStartOfNewest,
  scopeFields,
  type Scopes,
  subjectsIn,
  type Viewer,
} from "../ledger/mod.ts";
import { withNames } from "../keys/mod.ts";
import { tables } from "../store/mod.ts";
import { type AlertRow, findAlert, isSeenBy, scopeOfWarning, toAlertRecords } from "./alerts.ts";
import type { AlertContext } from "./context.ts";
import type { Largest } from "./describe_alert.ts";

const { alertRules, alerts, budgets } = tables;

/** The number of agents, models and sessions that are listed, and of past alerts. */
const TOP = 5;
const PAST = 20;

/** The calls of a long window whose sessions are listed. */
const SEARCHED_CALLS = 1_000;

type Context = Pick<AlertContext, "query" | "store" | "clock">;

/**
 * Returns an alert with the spending that moved it and the earlier alerts of its rule; for a viewer of one
 * agent an alert about that agent alone.
 *
 * @throws {PurserError} `not_found`
 */
export async function explainAlert(
  ctx: Context,
  alertId: string,
  viewer: Viewer = ALL_SEEING,
): Promise<AlertDetail> {
  const found = await findAlert(ctx, alertId, viewer);
  if (!found) throw new PurserError("not_found", `Cannot find alert ${alertId} in the history`);
  const { row, alert } = found;
  const [causes, past] = await Promise.all([
    row.isTest || !isOfCalls(row.thresholdType) || measuresPlan(row)
      ? null
      : readCauses(ctx, row, alert, viewer),
    ctx.query.select().from(alerts)
      .where(
        and(eq(alerts.ruleId, row.ruleId), lt(alerts.position, row.position), isSeenBy(ctx.query, viewer)),
      )
      .orderBy(desc(alerts.position)).limit(PAST),
  ]);
  return { ...alert, causes, past: await toAlertRecords(ctx, past, viewer) };
}

/** Costs are no causes of a plan value. */
function measuresPlan(row: AlertRow): boolean {
  const scope = row.scope ?? scopeOfWarning(row);
  return scope != null && isScopeBy(scope) && subjectsIn(scope)[0]![0] === "plan";
}

/** The calls that an alert measured: those of an agent, a key, a session or a run; without any, all calls. */
type Measured = { [Property in keyof Scopes]?: string } & Pick<CostScope, "model" | "provider" | "tags">;

/** Returns the calls of subjects, as far as costs are summed by them: not by a source, or a pattern of models. */
function ofSubjects(subjects: readonly Subject[]): Measured {
  const tags = subjects.flatMap(([part, value]) => part.startsWith("tag:") ? [[part.slice(4), value!]] : []);
  const others = subjects.flatMap(([part, value]) =>
    value !== null && part in DIMENSIONS ? [[DIMENSIONS[part as Dimension].property, value]] : []
  );
  return { ...Object.fromEntries(others), ...(tags.length > 0 && { tags: Object.fromEntries(tags) }) };
}

async function readCauses(
  ctx: Context,
  row: AlertRow,
  names: NameFields,
  viewer: Viewer,
): Promise<AlertCauses> {
  const measured = { ...await measuredBy(ctx, row) };
  if (viewer.agentId !== undefined) measured.agentId = viewer.agentId;
  const { sessionId, runId, ...others } = measured;
  const to = row.triggeredAt + 1;
  const from = row.windowStart;
  const upTo = row.callPosition ?? undefined;
  // Calls are read one by one: those of a month would take too long.
  const since = await readStartOfNewest(ctx.store, { from: from ?? 0, to, upTo, calls: SEARCHED_CALLS });
  // A budget may count each session for itself in each window; a rule counts all of a session or run.
  const span = row.budgetLimitNanoUsd === null || from === null ? {} : { from };
  const own = sessionId !== undefined
    ? { sessionId, runId, ...span }
    : runId !== undefined
    ? { runId, ...span }
    : undefined;
  const top = (groupBy: "agent" | "model" | "session", calls: IndexedCalls) =>
    listTopCosts(ctx.store, { groupBy, limit: TOP, ...others, upTo, ...calls });
  const scope: CostScope = { ...others, from: from ?? undefined, to };
  const sum = (groupBy: "agent" | "model") =>
    own ? top(groupBy, own) : listCosts(ctx.store, { ...scope, upTo, groupBy, limit: TOP, offset: 0 });
  const [agents, models, sessions, { cost_usd }] = await Promise.all([
    sum("agent"),
    sum("model"),
    top("session", own ?? { from: since, to }),
    readPresentCost(ctx, measured, scope),
  ]);
  const shares = {
    agents: sharesOf(agents, row.valueNanoUsd),
    models: sharesOf(models, row.valueNanoUsd),
    sessions: sharesOf(sessions, row.valueNanoUsd),
  };
  return {
    from: from === null ? null : toIso(from),
    to: toIso(row.triggeredAt),
    measured: valuesOf(measured, names),
    cost_usd,
    agents: shares.agents.rows,
    models: shares.models.rows,
    sessions: shares.sessions.rows,
    others: {
      agents: shares.agents.others,
      models: shares.models.others,
      sessions: shares.sessions.others,
    },
    sessions_from: toIso(own ? from ?? 0 : since),
  };
}

/** Returns the value of each dimension on the wire, with its name; null where all are measured. */
function valuesOf(measured: Measured, names: NameFields): AlertCauses["measured"] {
  const named = NAMED.filter((kind) => measured[DIMENSIONS[kind].property] !== undefined)
    .map((kind) => [DIMENSIONS[kind].nameField, names[DIMENSIONS[kind].nameField] ?? null]);
  return { ...scopeFields(measured), ...Object.fromEntries(named) };
}

/** Reads the present cost of the measured calls: those of a span, or all of a session or run. */
async function readPresentCost(
  { store }: Context,
  { sessionId, runId }: Measured,
  scope: CostScope,
): Promise<Pick<CostRow, "cost_usd">> {
  if (runId !== undefined) return await readRunUsage(store, runId);
  if (sessionId !== undefined) return (await readSessionUsage(store, [sessionId])).get(sessionId)!;
  return await readCostTotal(store, scope);
}

/** Adds the share of an alert's value to each group, and the rest that no group explains. */
function sharesOf(groups: CostRow[], value: NanoUsd): { rows: AlertCause[]; others: OtherCauses } {
  const sum = groups.reduce((total, { cost_usd }) => total + parseTotalUsd(cost_usd ?? 0), 0n);
  // Alerts of earlier versions don't name their newest call: calls that were booked later may be among theirs.
  const whole = sum > value ? sum : value;
  const shareOf = (part: NanoUsd) => whole === 0n ? 0 : Number(part) / Number(whole);
  return {
    rows: groups.map((group) => ({
      ...group,
      share: group.cost_usd === null ? null : shareOf(parseTotalUsd(group.cost_usd)),
    })),
    others: { cost_usd: toUsd(whole - sum), share: shareOf(whole - sum) },
  };
}

async function measuredBy({ query }: Pick<Context, "query">, row: AlertRow): Promise<Measured> {
  if (row.scope !== null) return ofSubjects(subjectsIn(row.scope));
  if (row.budgetLimitNanoUsd !== null) return await measuredByBudget(query, row);
  if (row.thresholdType === "per_run_usd") return ofRun(row);
  if (row.thresholdType === "per_session_usd") return { sessionId: row.sessionId! };
  const [rule] = await query.select().from(alertRules).where(eq(alertRules.ruleId, row.ruleId));
  return rule?.scope ? { agentId: rule.scope } : {};
}

const ofRun = ({ runId, sessionId }: AlertRow): Measured => ({
  runId: runId!,
  ...(sessionId !== null && { sessionId }),
});

/** Returns the calls of the counter of a budget, whose scope begins the claim of the window. */
async function measuredByBudget(query: Context["query"], row: AlertRow): Promise<Measured> {
  const [budget] = await query.select().from(budgets).where(eq(budgets.budgetId, row.ruleId));
  const scope = scopeOfWarning(row) ?? budget?.scope ?? "";
  if (isScopeBy(scope)) return ofSubjects(subjectsIn(scope));
  const counter = entityOf(scope);
  if (!counter) return {};
  const { kind, id } = counter;
  if (kind === "run") return ofRun(row);
  return { [DIMENSIONS[kind].property]: id };
}

/** The kinds of subjects of which one is named by a forecast: the first that its budget does not name itself. */
const CAUSES = ["key", "agent", "session"] as const;

/** Returns the API key with the most spending in the window of an alert; without keys the agent, or the session. */
export async function readLargest(
  ctx: { query: Context["query"]; store: Pick<Context["store"], "read" | "readLong"> },
  row: AlertRow,
): Promise<Largest | undefined> {
  const measured = await measuredBy(ctx, row);
  const span = { from: row.windowStart ?? 0, to: row.triggeredAt + 1, upTo: row.callPosition ?? undefined };
  for (const kind of CAUSES.filter((kind) => measured[DIMENSIONS[kind].property] === undefined)) {
    const rows = await listCosts(ctx.store, { ...measured, ...span, groupBy: kind, limit: 2, offset: 0 });
    const named = await withNames(ctx, rows.filter((row) => row[DIMENSIONS[kind].field] != null));
    const [first] = named;
    if (first?.cost_usd) return { kind, name: nameIn(first, kind)!, costUsd: first.cost_usd };
  }
  return undefined;
}
