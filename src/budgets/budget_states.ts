import type { BudgetState } from "../contract/budgets/budget_state.ts";
import type { BudgetCheck } from "../contract/budgets/budget_checks.ts";
import { NEAR_LIMIT, WARNING_DECIMALS } from "../contract/limits.ts";
import type { BudgetPeriod } from "../contract/values.ts";
import { type Clock, HOUR_MS, toIso } from "../kernel/clock.ts";
import { type NanoUsd, toUsd } from "../kernel/money.ts";
import { SLICE_UNITS, type Turns } from "../kernel/turns.ts";
import {
  ALL_AGENTS,
  describePace,
  keyScope,
  type Pace,
  type PacedWindow,
  readPaces,
  readSessionsOfRuns,
} from "../ledger/mod.ts";
import { type Query, type SqlValue, type Statement, type Store, tables } from "../store/mod.ts";
import { countersOf, selectCounters } from "./budget_counters.ts";
import type { BudgetRow } from "./budget_fields.ts";
import { entityOf, scopeText, sessionScope } from "./scopes.ts";
import { readStandings } from "./standings.ts";
import { windowOf } from "./windows.ts";
import { and, eq, inArray } from "drizzle-orm";

type StateContext = { store: Store; clock: Pick<Clock, "now">; turns?: Turns };

/** The number of budgets with many counters that one turn of the event loop searches; each takes some milliseconds. */
const SEARCHED_AT_ONCE = 4;

/** The limits, on which a state is decided. */
type Limits = Pick<BudgetRow, "limitNanoUsd" | "mode" | "warnAt">;

/** The amounts of one counter of a budget, in nano-USD, and its window. */
export interface Figures {
  spentNanoUsd: NanoUsd;
  reservedNanoUsd: NanoUsd;
  extraNanoUsd: NanoUsd;
  /** 0 where all there is counts. */
  from: number;
  resetsAt: number | null;
}

/** Converts figures to wire form, with the state that follows from them. */
export function describeFigures({ limitNanoUsd, warnAt }: Limits, figures: Figures) {
  const { spentNanoUsd, reservedNanoUsd, extraNanoUsd, from, resetsAt } = figures;
  const limit = limitNanoUsd + extraNanoUsd;
  const left = limit - spentNanoUsd - reservedNanoUsd;
  return {
    spent_usd: toUsd(spentNanoUsd),
    reserved_usd: toUsd(reservedNanoUsd),
    extra_usd: toUsd(extraNanoUsd),
    left_usd: toUsd(left > 0n ? left : 0n),
    window_start: from === 0 ? null : toIso(from),
    resets_at: resetsAt === null ? null : toIso(resetsAt),
    state: stateOf(warnAt, spentNanoUsd, limit),
  };
}

function stateOf(
  [lowest = NEAR_LIMIT]: readonly number[],
  spent: NanoUsd,
  limit: NanoUsd,
): BudgetState["state"] {
  if (spent >= limit) return "reached";
  const near = Math.min(lowest, NEAR_LIMIT);
  const whole = 10n ** BigInt(WARNING_DECIMALS);
  return spent * whole >= limit * BigInt(Math.round(near * Number(whole))) ? "near" : "ok";
}

/** A counter of a budget; without a scope, one of a run or session that has not begun. */
export interface CounterOf {
  row: Limits & Pick<BudgetRow, "per" | "countsFrom"> & { budgetId: string | null };
  scope: string | undefined;
}

/** SQL for the raises that hold at a time. */
export const holdsAt = (now: string) => `(until IS NULL OR until > ${now})`;

const RAISES = `SELECT budget_id, sum(extra_nano_usd) FROM budget_raises
WHERE budget_id IN (SELECT value FROM json_each(?1)) AND ${holdsAt("?2")} GROUP BY budget_id`;

/** Reads the raises that hold, by budget. */
async function readRaises(
  { store }: StateContext,
  ids: string[],
  now: number,
): Promise<Map<string, NanoUsd>> {
  if (ids.length === 0) return new Map();
  const { rows } = await store.read({ sql: RAISES, args: [JSON.stringify(ids), now] });
  return new Map(rows as [string, bigint][]);
}

/** Reads the amounts of counters in their present windows. */
export async function readFigures(
  ctx: StateContext,
  counters: readonly CounterOf[],
  now = ctx.clock.now(),
): Promise<Figures[]> {
  const windows = counters.map(({ row }) => windowOf(row.per, now, row.countsFrom));
  const known = counters.flatMap(({ row: { per }, scope }, index) =>
    scope === undefined ? [] : [{ scope, per, from: windows[index]!.from, index }]
  );
  const [standings, raises] = await Promise.all([
    known.length === 0 ? [] : readStandings(ctx, known),
    readRaises(ctx, [...new Set(counters.flatMap(({ row }) => row.budgetId ?? []))], now),
  ]);
  const standingOf = new Map(known.map(({ index }, position) => [index, standings[position]!]));
  return counters.map(({ row }, index) => {
    const standing = standingOf.get(index);
    const { from, resetsAt } = windows[index]!;
    return {
      spentNanoUsd: standing?.settledNanoUsd ?? 0n,
      reservedNanoUsd: !standing
        ? 0n
        : row.mode === "strict"
        ? standing.worstNanoUsd + standing.lostNanoUsd
        : standing.estimatedNanoUsd,
      extraNanoUsd: raises.get(row.budgetId ?? "") ?? 0n,
      from,
      resetsAt,
    };
  });
}

/**
 * Reads the state of each budget. Of one with many counters it is that of the counter with the most spending in the
 * present window, searched among the newest 1,000 runs or sessions and those of the newest 1,000 calls.
 */
export async function readStates(ctx: StateContext, rows: readonly BudgetRow[]): Promise<BudgetState[]> {
  const now = ctx.clock.now();
  const many = rows.filter((row) => countersOf(row) !== undefined);
  const found = await readEach(ctx, many.map((row) => selectCounters(row, fromOf(row, now))));
  const scopesOf = new Map(many.map((row, index) => [row, found[index]!.map(([scope]) => scope as string)]));
  const counters = rows.flatMap((row): (CounterOf & { row: BudgetRow })[] => {
    const scopes = scopesOf.get(row) ?? [row.scope];
    return (scopes.length === 0 ? [undefined] : scopes).map((scope) => ({ row, scope }));
  });
  const figures = await readFigures(ctx, counters, now);
  const read = counters.map((counter, index) => ({ ...counter, figures: figures[index]! }));
  const byRow = Map.groupBy(read, ({ row }) => row);
  const largest = rows.map((row) =>
    byRow.get(row)!.reduce((most, next) => isMore(next.figures, most.figures) ? next : most)
  );
  const entities = largest.map(({ scope }) => scope === undefined ? undefined : entityOf(scope));
  const runIds = entities.flatMap((entity) => entity?.kind === "run" ? [entity.id] : []);
  const keyIds = entities.flatMap((entity) => entity?.kind === "key" ? [entity.id] : []);
  const [unpriced, paces, sessions, keyNames] = await Promise.all([
    readUnpriced(ctx, rows, largest, now),
    readPacesOf(ctx, rows, largest, now),
    readSessionsOfRuns(ctx.store, runIds),
    readKeyNames(ctx, keyIds),
  ]);
  return rows.map((row, index) => {
    const { figures } = largest[index]!;
    const entity = entities[index];
    const unpricedCalls = unpriced.get(row);
    return {
      ...describeFigures(row, figures),
      ...describePace(limitOf(row, figures), paces.get(row), now),
      ...(scopesOf.has(row) && {
        counter: entity === undefined || isEmpty(figures) ? null : {
          ...entity,
          ...(entity.kind === "run" && { session_id: sessions.get(entity.id) ?? null }),
        },
      }),
      ...(entity?.kind === "key" && { key_name: keyNames.get(entity.id) ?? null }),
      refused_calls: row.refusedCalls,
      last_refused_at: row.lastRefusedAt === null ? null : toIso(row.lastRefusedAt),
      ...(unpricedCalls !== undefined && { unpriced_calls: unpricedCalls }),
    };
  });
}

const KEY_NAMES = "SELECT key_id, name FROM api_keys WHERE key_id IN (SELECT value FROM json_each(?))";

async function readKeyNames({ store }: StateContext, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const { rows } = await store.read({ sql: KEY_NAMES, args: [JSON.stringify(ids)] });
  return new Map(rows as [string, string][]);
}

const WINDOWS: Record<BudgetPeriod, PacedWindow | undefined> = {
  run: undefined,
  session: undefined,
  hour: "hour",
  day: "day",
  week: "longer",
  month: "longer",
  lifetime: "longer",
};

/** Reads the paces of the counters that have one: of all agents, of an agent, or of a key. */
async function readPacesOf(
  ctx: StateContext,
  rows: readonly BudgetRow[],
  counters: readonly { scope: string | undefined }[],
  now: number,
): Promise<Map<BudgetRow, Pace>> {
  const paced = rows.flatMap((row, index) => {
    const { scope } = counters[index]!;
    const window = WINDOWS[row.per];
    if (scope === undefined || window === undefined || entityOf(scope)?.kind === "session") return [];
    return [{ row, scope, window }];
  });
  const paces = await readPaces(ctx.store, paced, now);
  return new Map(paced.map(({ row }, index) => [row, paces[index]!]));
}

function limitOf({ per, limitNanoUsd }: BudgetRow, figures: Figures) {
  const ceiling = limitNanoUsd + figures.extraNanoUsd;
  return {
    leftNanoUsd: ceiling - figures.spentNanoUsd - figures.reservedNanoUsd,
    endsAt: figures.resetsAt,
    ...(per === "hour" && { rolling: { limitNanoUsd: ceiling, lengthMs: HOUR_MS } }),
  };
}

const fromOf = ({ per, countsFrom }: BudgetRow, now: number) => windowOf(per, now, countsFrom).from;

const isEmpty = ({ spentNanoUsd, reservedNanoUsd }: Figures) => spentNanoUsd === 0n && reservedNanoUsd === 0n;

function isMore(a: Figures, b: Figures): boolean {
  return a.spentNanoUsd === b.spentNanoUsd
    ? a.reservedNanoUsd > b.reservedNanoUsd
    : a.spentNanoUsd > b.spentNanoUsd;
}

/** Reads the rows of each statement; of a database in this process in turn with other work. */
async function readEach({ store, turns }: StateContext, statements: readonly Statement[]) {
  const rows: SqlValue[][][] = [];
  const atOnce = store.kind === "remote" ? statements.length : SEARCHED_AT_ONCE;
  for (let start = 0; start < statements.length; start += atOnce) {
    if (start > 0) await turns?.spend(SLICE_UNITS);
    const results = await store.readAll(statements.slice(start, start + atOnce));
    rows.push(...results.map((result) => result.rows));
  }
  return rows;
}

/** Reads the number of calls without a known cost of each budget that allows them. */
async function readUnpriced(
  ctx: StateContext,
  rows: readonly BudgetRow[],
  counters: readonly { scope: string | undefined }[],
  now: number,
): Promise<Map<BudgetRow, number>> {
  const allowing = rows.flatMap((row, index) =>
    row.allowUnpriced ? [{ row, scope: counters[index]!.scope }] : []
  );
  const known = allowing.filter(({ scope }) => scope !== undefined);
  const found = await readEach(
    ctx,
    known.map(({ row, scope }) => countUnpriced(scope!, row.per, fromOf(row, now))),
  );
  const counts = new Map(known.map(({ row }, index) => [row, Number(found[index]![0]![0])]));
  return new Map(allowing.map(({ row }) => [row, counts.get(row) ?? 0]));
}

/** Returns the query for the calls without a known cost that a counter adds up. */
function countUnpriced(scope: string, per: BudgetPeriod, from: number): Statement {
  const count = (column: string, source: string) => `SELECT coalesce(sum(${column}), 0) FROM ${source}`;
  const entity = entityOf(scope);
  if (entity?.kind === "run") {
    return { sql: count("unpriced_calls", "run_usage WHERE run_id = ?"), args: [entity.id] };
  }
  if (entity?.kind === "session") {
    return from === 0
      ? { sql: count("unpriced_calls", "session_usage WHERE session_id = ?"), args: [entity.id] }
      : {
        sql: count("unpriced", "calls INDEXED BY calls_by_session WHERE session_id = ? AND at >= ?"),
        args: [entity.id, from],
      };
  }
  const isInScope = scope === ALL_AGENTS ? "?1 = ''" : `${entity!.kind}_id = ?1`;
  const args = [entity?.id ?? "", from];
  if (per === "hour") {
    return { sql: count("unpriced", `calls INDEXED BY calls_by_time WHERE at >= ?2 AND ${isInScope}`), args };
  }
  return from === 0
    ? { sql: count("unpriced_calls", `total_usage WHERE ${isInScope}`), args: args.slice(0, 1) }
    : { sql: count("unpriced_calls", `daily_usage WHERE day >= ?2 AND ${isInScope}`), args };
}

/** A call to check: of an agent, in a session, with an API key; a part that is not given is that of no budget. */
interface CheckedCall {
  agentId?: string | undefined;
  sessionId?: string | undefined;
  keyId?: string | null;
  /** Leaves out the amounts of counters over all agents. */
  hidesOthers?: boolean;
}

const { agents, budgets } = tables;

/** Returns the budgets that apply to a call, the one with the least left first. It reserves nothing. */
export async function checkBudgets(
  ctx: { store: Store; query: Query; clock: Pick<Clock, "now"> },
  call: CheckedCall,
): Promise<BudgetCheck[]> {
  const { agentId, sessionId, keyId, hidesOthers = false } = call;
  const scopes = {
    agent: agentId,
    session: sessionId === undefined ? undefined : sessionScope(sessionId),
    key: keyId == null ? undefined : keyScope(keyId),
    run: undefined,
  };
  const own = [scopes.agent, scopes.session, scopes.key].filter((scope) => scope !== undefined);
  const matching = await ctx.query.select().from(budgets)
    .where(and(eq(budgets.enabled, true), inArray(budgets.scope, [ALL_AGENTS, ...own])));

  const counterOf = (row: BudgetRow) => {
    const kind = countersOf(row);
    return kind === undefined ? row.scope : scopes[kind];
  };
  const applies = (row: BudgetRow) => {
    const scope = counterOf(row);
    // Agents and keys have a counter from the start; a call without a key has none in a budget of each key.
    if (scope === undefined) return row.each === null || row.each === "session";
    const isNamed = (other: BudgetRow) =>
      other.scope === scope && other.per === row.per && other.each === null;
    return row.each === null || !matching.some(isNamed);
  };
  const rows: AppliedBudget[] = [
    ...matching.filter(applies).map((row) => ({ ...row, counter: counterOf(row) })),
    ...agentId === undefined ? [] : await runBudgetOf(ctx.query, agentId),
  ];
  const figures = await readFigures(ctx, rows.map((row) => ({ row, scope: row.counter })));
  return rows.map((row, index) => ({ row, check: toCheck(row, figures[index]!) }))
    .sort((a, b) => a.check.left_usd - b.check.left_usd)
    .map(({ row, check }) => hidesOthers && row.counter === ALL_AGENTS ? withoutAmounts(check) : check);
}

/** A budget, or an agent's limit of each run, with the counter in which the call would count. */
type AppliedBudget =
  & Pick<BudgetRow, "per" | "each" | "mode" | "action" | "limitNanoUsd" | "warnAt" | "countsFrom">
  & { budgetId: string | null; name: string | null; counter: string | undefined };

function withoutAmounts(check: BudgetCheck): BudgetCheck {
  const { extra_usd: _extra, spent_usd: _spent, reserved_usd: _reserved, left_usd: _left, ...rest } = check;
  return rest;
}

function toCheck(row: AppliedBudget, figures: Figures) {
  return {
    budget_id: row.budgetId,
    name: row.name,
    per: row.per,
    scope: row.counter === undefined
      ? `new ${row.per === "run" ? "run" : "session"}`
      : scopeText(row.counter),
    mode: row.mode,
    action: row.action,
    limit_usd: toUsd(row.limitNanoUsd),
    ...describeFigures(row, figures),
  };
}

/** Returns the limit that an agent's definition has for each of its runs. */
async function runBudgetOf(query: Query, agentId: string): Promise<AppliedBudget[]> {
  const [agent] = await query.select().from(agents).where(eq(agents.agentId, agentId));
  if (!agent || agent.costBudgetNanoUsd === null) return [];
  return [{
    budgetId: null,
    name: null,
    per: "run",
    each: null,
    mode: agent.budgetMode,
    action: "refuse",
    limitNanoUsd: agent.costBudgetNanoUsd,
    warnAt: [],
    countsFrom: null,
    counter: undefined,
  }];
}
