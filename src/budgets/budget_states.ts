import type { BudgetCounter, BudgetCounterState, BudgetState } from "../contract/budgets/budget_state.ts";
import { NEAR_LIMIT, WARNING_DECIMALS } from "../contract/limits.ts";
import type { CounterSort } from "../contract/values.ts";
import { ROLLING_MS } from "../contract/windows.ts";
import { type Clock, toIso } from "../kernel/clock.ts";
import { type NanoUsd, toUsd } from "../kernel/money.ts";
import { SLICE_UNITS, type Turns } from "../kernel/turns.ts";
import {
  ALL_CALLS,
  counterIn,
  describePace,
  entityOf,
  type Pace,
  PACED_WINDOWS,
  readPaces,
  readSessionsOfRuns,
  readWindows,
  type Viewer,
} from "../ledger/mod.ts";
import { type SqlValue, type Statement, type Store } from "../store/mod.ts";
import { nameField, readNames } from "../keys/mod.ts";
import {
  type Counting,
  hasCounters,
  selectAllCounters,
  selectCounters,
  selectRuled,
} from "./budget_counters.ts";
import { type BudgetRow, FORECAST } from "./budget_fields.ts";
import { asSeenBy } from "./seen_budget.ts";
import { readStandings } from "./standings.ts";

type StateContext = { store: Store; clock: Pick<Clock, "now">; turns?: Turns };

/** The number of budgets with many counters that one turn of the event loop searches; each takes some milliseconds. */
const SEARCHED_AT_ONCE = 4;

/** The limits, on which a state is decided. */
type Limits = Pick<BudgetRow, "limitNanoUsd" | "mode" | "warnAt">;

/** The amounts of one counter of a budget, in nano-USD, and its window. */
export interface Figures {
  spentNanoUsd: NanoUsd;
  reservedNanoUsd: NanoUsd;
  /** The part of the reserved amount that a strict budget holds for calls that are not in progress. */
  heldNanoUsd: NanoUsd;
  extraNanoUsd: NanoUsd;
  /** The calls whose cost is not known, which no amount has. */
  unpricedCalls: number;
  /** The start of the window; 0 if all spending counts. */
  from: number;
  resetsAt: number | null;
}

/** Converts figures to wire form, with the state that follows from them. */
export function describeFigures({ limitNanoUsd, warnAt }: Limits, figures: Figures) {
  const { spentNanoUsd, reservedNanoUsd, extraNanoUsd, unpricedCalls, from, resetsAt } = figures;
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
    ...(unpricedCalls > 0 && { unpriced_calls: unpricedCalls }),
  };
}

function stateOf(
  warnAt: readonly number[],
  spent: NanoUsd,
  limit: NanoUsd,
): BudgetState["state"] {
  if (spent >= limit) return "reached";
  const near = Math.min(...warnAt.filter((share) => share !== FORECAST), NEAR_LIMIT);
  const whole = 10n ** BigInt(WARNING_DECIMALS);
  return spent * whole >= limit * BigInt(Math.round(near * Number(whole))) ? "near" : "ok";
}

/** A counter of a budget; without a scope, one of a run or session that has not begun. */
export interface CounterOf {
  row: Limits & Pick<BudgetRow, "per" | "countsFrom" | "calendar"> & { budgetId: string | null };
  scope: string | undefined;
}

/** SQL for the raises that are in force at a time. */
export const holdsAt = (now: string) => `(until IS NULL OR until > ${now})`;

const RAISES = `SELECT budget_id, scope, sum(extra_nano_usd) FROM budget_raises
WHERE budget_id IN (SELECT value FROM json_each(?1)) AND ${holdsAt("?2")} GROUP BY budget_id, scope`;

/** Reads the sum of the raises in force for a counter of a budget. */
async function readRaises(
  { store }: StateContext,
  ids: string[],
  now: number,
): Promise<(budgetId: string, counter: string | undefined) => NanoUsd> {
  const { rows } = ids.length === 0
    ? { rows: [] }
    : await store.read({ sql: RAISES, args: [JSON.stringify(ids), now] });
  const raises = Map.groupBy(rows as [string, string | null, bigint][], ([budgetId]) => budgetId);
  return (budgetId, counter) =>
    (raises.get(budgetId) ?? []).filter(([, scope]) => scope === null || scope === counter)
      .reduce((sum, [, , extra]) => sum + extra, 0n);
}

/** Reads the amounts of counters in their present windows. */
export async function readFigures(
  ctx: StateContext,
  counters: readonly CounterOf[],
  now = ctx.clock.now(),
): Promise<Figures[]> {
  const windows = await readWindows(ctx.store, counters.map(({ row }) => row), now);
  const known = counters.flatMap(({ row: { per, calendar }, scope }, index) =>
    scope === undefined ? [] : [{ scope, per, calendar, from: windows[index]!.from, index }]
  );
  const [standings, raises] = await Promise.all([
    known.length === 0 ? [] : readStandings(ctx, known),
    readRaises(ctx, [...new Set(counters.flatMap(({ row }) => row.budgetId ?? []))], now),
  ]);
  const standingOf = new Map(known.map(({ index }, position) => [index, standings[position]!]));
  return counters.map(({ row, scope }, index) => {
    const standing = standingOf.get(index);
    const { from, resetsAt } = windows[index]!;
    return {
      spentNanoUsd: standing?.settledNanoUsd ?? 0n,
      reservedNanoUsd: !standing
        ? 0n
        : row.mode === "strict"
        ? standing.worstNanoUsd + standing.lostNanoUsd
        : standing.estimatedNanoUsd,
      heldNanoUsd: standing?.lostNanoUsd ?? 0n,
      extraNanoUsd: raises(row.budgetId ?? "", scope),
      unpricedCalls: standing?.unpricedCalls ?? 0,
      from,
      resetsAt,
    };
  });
}

/**
 * Reads the state of each budget. A budget with many counters has the state of the one with the most spending in the present
 * window, which is searched among the newest 1,000 runs or sessions and those of the newest 1,000 calls. A viewer of one agent
 * gets no amounts of other agents.
 */
export async function readStates(
  ctx: StateContext,
  budgets: readonly BudgetRow[],
  viewer: Viewer,
): Promise<BudgetState[]> {
  const now = ctx.clock.now();
  const rows = budgets.map((row) => asSeenBy(row, viewer) ?? row);
  const many = rows.filter(hasCounters);
  const windows = await readWindows(ctx.store, many, now);
  const found = await readEach(
    ctx,
    many.map((row, index) => selectCounters(row, { from: windows[index]!.from, owner: viewer.agentId })),
  );
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
  const entities = largest.map(({ scope }, index) =>
    scope === undefined ? undefined : counterOf(rows[index]!, scope)
  );
  const runIds = entities.flatMap((entity) => entity?.kind === "run" ? [entity.id] : []);
  const [paces, sessions, names] = await Promise.all([
    readPacesOf(ctx, rows, largest, now),
    readSessionsOfRuns(ctx.store, runIds),
    readNames(ctx, largest.map(({ scope }) => scope)),
  ]);
  return rows.map((row, index) => {
    const budget = budgets[index]!;
    const { figures } = largest[index]!;
    if (asSeenBy(budget, viewer) === undefined) return hideAmounts(describeFigures(row, figures));
    const isOfOthers = !viewer.seesAll && budget.scope === ALL_CALLS;
    const entity = entities[index];
    return {
      ...describeFigures(row, figures),
      ...(row.mode === "strict" && { held_usd: toUsd(figures.heldNanoUsd) }),
      ...describePace(limitOf(row, figures), paces.get(row), now),
      ...(hasCounters(budget) && {
        counter: entity === undefined || isEmpty(figures) ? null : {
          ...entity,
          ...(entity.kind === "run" && { session_id: sessions.get(entity.id) ?? null }),
        },
      }),
      ...nameField(names, largest[index]!.scope),
      ...(!isOfOthers && {
        refused_calls: row.refusedCalls,
        last_refused_at: row.lastRefusedAt === null ? null : toIso(row.lastRefusedAt),
      }),
    };
  });
}

/** Returns the kind and the id of a counter of a budget, as answers have them. */
export const counterOf = ({ shape, each, per }: BudgetRow, scope: string) =>
  counterIn(scope, shape === null ? null : each ?? per) as BudgetCounter | undefined;

type Described = ReturnType<typeof describeFigures>;

/** Returns the state of a budget without the amounts of others, and without their pace. */
function hideAmounts({ window_start, resets_at, state }: Described): BudgetState {
  return { window_start, resets_at, state, usd_per_hour: null, reaches_at: null };
}

/** Reads the paces of the counters that are counted by window; runs and sessions have none. */
async function readPacesOf(
  ctx: StateContext,
  rows: readonly BudgetRow[],
  counters: readonly { scope: string | undefined }[],
  now: number,
): Promise<Map<BudgetRow, Pace>> {
  const paced = rows.flatMap((row, index) => {
    const { scope } = counters[index]!;
    const window = PACED_WINDOWS[row.per];
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
    ...(per === "hour" && { rolling: { limitNanoUsd: ceiling, lengthMs: ROLLING_MS } }),
  };
}

/** Reads the start of the present window of a budget. */
export const readFrom = async ({ store }: { store: Pick<Store, "read"> }, row: BudgetRow, now: number) =>
  (await readWindows(store, [row], now))[0]!.from;

const isEmpty = ({ spentNanoUsd, reservedNanoUsd, unpricedCalls }: Figures) =>
  spentNanoUsd === 0n && reservedNanoUsd === 0n && unpricedCalls === 0;

function isMore(a: Figures, b: Figures): boolean {
  if (a.spentNanoUsd !== b.spentNanoUsd) return a.spentNanoUsd > b.spentNanoUsd;
  return a.reservedNanoUsd === b.reservedNanoUsd
    ? a.unpricedCalls > b.unpricedCalls
    : a.reservedNanoUsd > b.reservedNanoUsd;
}

/**
 * Lists the counters of a budget, by default those with the most spending first: every agent or active key, or the sessions or runs of the
 * present window. A budget with a single counter has an empty list. A viewer of one agent gets its own.
 */
export async function listCounters(
  ctx: StateContext,
  budget: BudgetRow,
  { viewer, ...page }: { viewer: Viewer; limit: number; offset: number; sort?: CounterSort },
): Promise<BudgetCounterState[]> {
  const row = asSeenBy(budget, viewer);
  if (!row || !hasCounters(budget)) return [];
  const now = ctx.clock.now();
  const query = { from: await readFrom(ctx, row, now), owner: viewer.agentId, now, ...page };
  const scopes = !hasCounters(row)
    ? page.offset === 0 ? [row.scope] : []
    : (await ctx.store.readLong(selectAllCounters(row, query))).rows.map(([scope]) => scope as string);
  const figures = await readFigures(ctx, scopes.map((scope) => ({ row, scope })), now);
  const entities = scopes.map((scope) => counterOf(row, scope)!);
  const runIds = entities.flatMap(({ kind, id }) => kind === "run" ? [id] : []);
  const [sessions, names] = await Promise.all([
    readSessionsOfRuns(ctx.store, runIds),
    readNames(ctx, scopes),
  ]);
  return entities.map((entity, index) => ({
    ...entity,
    ...nameField(names, scopes[index]),
    ...(entity.kind === "run" && { session_id: sessions.get(entity.id) ?? null }),
    ...describeFigures(row, figures[index]!),
  }));
}

/**
 * Reads what alert rules of subjects measure: each by its counter, or by the one with the most spending of those that it has. Null
 * where it has none yet.
 */
export async function readLargest(
  ctx: Pick<StateContext, "store" | "turns">,
  rules: readonly Counting[],
  now: number,
): Promise<({ scope: string; nanoUsd: NanoUsd } | null)[]> {
  const windows = await readWindows(ctx.store, rules, now);
  const fromOf = new Map(rules.map((rule, index) => [rule, windows[index]!.from]));
  const many = rules.filter(({ shape }) => shape !== null);
  const found = await readEach(ctx, many.map((rule) => selectRuled(rule, fromOf.get(rule)!)));
  const scopesOf = new Map(
    many.map((rule, index) => [rule, found[index]!.map(([scope]) => scope as string)]),
  );
  const counters = rules.flatMap((rule) =>
    (scopesOf.get(rule) ?? [rule.scope]).map((scope) => {
      const { per, calendar } = rule;
      return { rule, scope, per, calendar, from: fromOf.get(rule)! };
    })
  );
  const standings = counters.length === 0 ? [] : await readStandings(ctx, counters);
  const largest = new Map<Counting, { scope: string; nanoUsd: NanoUsd }>();
  for (const [index, { rule, scope }] of counters.entries()) {
    const nanoUsd = standings[index]!.settledNanoUsd;
    if ((largest.get(rule)?.nanoUsd ?? -1n) < nanoUsd) largest.set(rule, { scope, nanoUsd });
  }
  return rules.map((rule) => largest.get(rule) ?? null);
}

/** Reads the rows of each statement. A database in this process shares the event loop, so it lets other work in between. */
async function readEach(
  { store, turns }: Pick<StateContext, "store" | "turns">,
  statements: readonly Statement[],
) {
  const rows: SqlValue[][][] = [];
  const atOnce = store.kind === "remote" ? statements.length : SEARCHED_AT_ONCE;
  for (let start = 0; start < statements.length; start += atOnce) {
    if (start > 0) await turns?.spend(SLICE_UNITS);
    const results = await store.readAll(statements.slice(start, start + atOnce));
    rows.push(...results.map((result) => result.rows));
  }
  return rows;
}
