import { and, eq, inArray, or, type SQL, sql } from "drizzle-orm";
import type { BudgetCounterState } from "../contract/budgets/budget_state.ts";
import type {
  Budget,
  BudgetChanges,
  BudgetDefinition,
  BudgetInput,
  WholeBudget,
} from "../contract/budgets/budgets.ts";
import type { CounterSort } from "../contract/values.ts";
import type { Clock } from "../kernel/clock.ts";
import { invalidField } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import { nearestName } from "../kernel/nearest_name.ts";
import type { Turns } from "../kernel/turns.ts";
import { withoutUndefined } from "../kernel/records.ts";
import type { Calendar } from "../contract/calendars/zones.ts";
import {
  ALL_CALLS,
  ALL_SEEING,
  DROP_CALENDARS,
  DROP_SHAPES,
  entityOf,
  idInScope,
  isScopeOf,
  kindOfScope,
  type Viewer,
} from "../ledger/mod.ts";
import {
  type Author,
  type Edit,
  oldestFirst,
  type Query,
  readInCode,
  type ResultSet,
  type Statement,
  type Store,
  tables,
  type TimePosition,
} from "../store/mod.ts";
import {
  type BudgetRow,
  BUDGETS,
  countersFor,
  dropCounters,
  inputOf,
  toAuthoredRow,
  toDefinition,
} from "./budget_fields.ts";
import { FORGET_HEADROOM } from "./reservations/reservations.ts";
import { sessionOwner } from "./budget_counters.ts";
import { listCounters, readStates } from "./budget_states.ts";
import { asSeenBy } from "./seen_budget.ts";
import { listHolds } from "./reservations/holds.ts";
import type { KnownBudgets } from "./known/mod.ts";
import { findUnknown, type NamingContext, withKnownNames } from "./known_scopes.ts";
import { expireTickets, forgetTickets } from "./tickets/open_tickets.ts";

/** The parts of a process that budgets use. Its calendar is that of the windows of budgets that name none. */
export interface BudgetContext extends NamingContext, Partial<Calendar> {
  store: Store;
  query: Query;
  clock: Clock;
  ids: Ids;
  budgets: Pick<KnownBudgets, "changed">;
  turns?: Turns;
  /** Who changes budgets, for the audit log. */
  author: Author;
}

/** Returns the author of a change that is made now. */
export const editOf = ({ author, clock }: Pick<BudgetContext, "author" | "clock">): Edit => ({
  author,
  now: clock.now(),
});

/** Commits a change of budgets. It may be committed even if the write fails, so the process reads its budgets again. */
export async function writeBudgets(
  ctx: BudgetContext,
  statements: readonly Statement[],
): Promise<ResultSet[]> {
  try {
    return await ctx.store.write([FORGET_HEADROOM, ...statements]);
  } finally {
    ctx.budgets.changed();
  }
}

const { budgets } = tables;

const LIST = oldestFirst(budgets.createdAt, budgets.budgetId);

/**
 * Matches the budgets that name the agent of a viewer, one of its sessions or its key, and those over all calls that bind it;
 * undefined for a viewer of all of them.
 */
function isSeenBy({ agentId, scopes }: Viewer): SQL | undefined {
  if (agentId === undefined) return undefined;
  const { scope, each, per, enabled } = budgets;
  // A budget with a counter for each agent or key doesn't bind those that another budget names.
  const bindsOwn = sql`EXISTS (SELECT 1 FROM json_each(${JSON.stringify(scopes)}) own
    WHERE ${sql.raw(kindOfScope("own.value"))} = ${each} AND NOT EXISTS (SELECT 1 FROM budgets o
      WHERE o.enabled = 1 AND o.scope = own.value AND o.per = ${per} AND o.each IS NULL))`;
  // Of several subjects, an agent or a key comes first: its value follows the shape.
  const namesOwn = sql`EXISTS (SELECT 1 FROM json_each(${JSON.stringify(ownValues(scopes))}) own
    WHERE ${scope} >= 'by ' || own.key || ',' AND ${scope} < 'by ' || own.key || '-'
      AND instr(${scope} || ' ', ' ' || own.value || ' ') = 3 + instr(substr(${scope}, 4), ' '))`;
  return or(
    inArray(scope, [...scopes]),
    namesOwn,
    sql`(${sql.raw(isScopeOf("session", "budgets.scope"))} AND ${
      sql.raw(sessionOwner(idInScope("session", "budgets.scope")))
    } = ${agentId})`,
    sql`(${scope} = ${ALL_CALLS} AND ${enabled} = 1 AND (coalesce(${each}, 'session') = 'session' OR ${bindsOwn}))`,
  );
}

/** Returns the agent and the key of a viewer by their kinds. */
const ownValues = (scopes: readonly string[]) =>
  Object.fromEntries(scopes.flatMap((scope) => entityOf(scope) ?? []).map(({ kind, id }) => [kind, id]));

/** The budgets to list. */
export interface BudgetFilter {
  /** The exact name. */
  name?: string | undefined;
  viewer?: Viewer | undefined;
  isEnabled?: true;
  /** The last budget of the previous page. */
  after?: TimePosition | undefined;
  limit: number;
}

type ReadContext = Pick<BudgetContext, "store" | "query" | "clock" | "turns">;

/** Lists budgets, oldest first, each with its state. */
export function listBudgets(
  ctx: ReadContext,
  filter: BudgetFilter & { viewer?: undefined },
): Promise<WholeBudget[]>;
export function listBudgets(ctx: ReadContext, filter: BudgetFilter): Promise<Budget[]>;
export async function listBudgets(ctx: ReadContext, filter: BudgetFilter): Promise<Budget[]> {
  return await withStates(ctx, await selectBudgets(ctx.query, filter), filter.viewer);
}

async function selectBudgets(query: Query, filter: BudgetFilter): Promise<BudgetRow[]> {
  const { name, viewer = ALL_SEEING, isEnabled, after, limit } = filter;
  return await query.select().from(budgets)
    .where(and(
      name === undefined ? undefined : eq(budgets.name, name),
      isSeenBy(viewer),
      isEnabled && eq(budgets.enabled, true),
      LIST.from(after),
    ))
    .orderBy(...LIST.order).limit(limit);
}

/** Returns one budget with its state, and with what it holds. Throws `not_found`. */
export function getBudget(ctx: ReadContext, budgetId: string): Promise<WholeBudget>;
export function getBudget(ctx: ReadContext, budgetId: string, viewer: Viewer): Promise<Budget>;
export async function getBudget(
  ctx: ReadContext,
  budgetId: string,
  viewer = ALL_SEEING,
): Promise<Budget> {
  const row = await readBudget(ctx.query, budgetId, viewer);
  const seen = row.mode === "strict" ? asSeenBy(row, viewer) : undefined;
  const [[budget], holds] = await Promise.all([
    withStates(ctx, [row], viewer),
    seen && listHolds(ctx, seen, viewer),
  ]);
  return { ...budget!, ...(holds && { holds }) };
}

/**
 * Lists the counters of a budget that has many, by default those with the most spending first.
 *
 * @throws {PurserError} `not_found`
 */
export async function listBudgetCounters(
  ctx: Pick<BudgetContext, "store" | "query" | "clock">,
  budgetId: string,
  page: { viewer: Viewer; limit: number; offset: number; sort?: CounterSort },
): Promise<BudgetCounterState[]> {
  return await listCounters(ctx, await readBudget(ctx.query, budgetId, page.viewer), page);
}

async function withStates(
  ctx: Pick<BudgetContext, "store" | "clock" | "turns">,
  rows: readonly BudgetRow[],
  viewer = ALL_SEEING,
): Promise<Budget[]> {
  const [states, unknown] = await Promise.all([
    readStates(ctx, rows, viewer),
    !viewer.seesAll ? undefined : findUnknown(ctx, rows.map(({ scope }) => scope)),
  ]);
  return rows.map((row, index) => {
    const name = unknown?.get(row.scope);
    return { ...toDefinition(row), ...states[index]!, ...(name && { unknown: name }) };
  });
}

/** Reads the row of one budget. Throws `not_found`, also for one that the viewer may not see. */
export function readBudget(query: Query, budgetId: string, viewer = ALL_SEEING): Promise<BudgetRow> {
  return BUDGETS.read(query, budgetId, isSeenBy(viewer));
}

const BUDGET_ID = /^bud_[A-Za-z0-9_-]{1,64}$/;

/** The most names among which that of a budget is searched. */
const MAX_NAMES = 1_000;

/**
 * Returns the id of the budget that a text names by its id or its name. The id of a budget that was removed is left as it is.
 *
 * @throws {PurserError} `invalid` for a name that no budget has, with the nearest one, and for one that several have
 */
export async function findBudgetId(
  { query }: Pick<BudgetContext, "query">,
  text: string,
  viewer: Viewer = ALL_SEEING,
): Promise<string> {
  if (BUDGET_ID.test(text)) return text;
  const all = await selectBudgets(query, { viewer, limit: MAX_NAMES });
  const ids = all.filter(({ name }) => name === text).map(({ budgetId }) => budgetId);
  if (ids.length === 1) return ids[0]!;
  const near = nearestName(text, all.map(({ name }) => name));
  const message = ids.length > 1
    ? `${ids.length} budgets are named ${JSON.stringify(text)}; give the id of one: ${
      ids.slice(0, 10).join(", ")
    }`
    : `no budget has the name ${JSON.stringify(text)}${
      near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`
    }`;
  throw invalidField("budget_id", message);
}

/**
 * Adds a budget that was checked. Spending from before it existed counts. `settle` may add statements to the commit.
 *
 * @throws {PurserError} `invalid` for a key that is not known, and a pattern that matches no model
 */
export async function createBudget(
  ctx: BudgetContext,
  input: BudgetInput,
  settle: (budget: Budget) => readonly Statement[] = () => [],
): Promise<Budget> {
  const edit = editOf(ctx);
  const { now } = edit;
  const row: BudgetRow = {
    budgetId: ctx.ids.next("bud"),
    ...toAuthoredRow(await withKnownNames(ctx, input), ctx),
    createdAt: now,
    updatedAt: now,
    refusedCalls: 0,
    lastRefusedAt: null,
  };
  // The state of a budget of new subjects or windows is that of counters that its unit would add.
  const counted = countersFor(row, now);
  if (counted.length > 0) await ctx.store.write(counted);
  const [budget] = await withStates(ctx, [row]);
  await writeBudgets(ctx, [
    ...counted,
    ...BUDGETS.insert(edit, row),
    ...settle(budget!),
  ]);
  return budget!;
}

/** Checks the budget that a change replaces, and throws to refuse the change. */
export type BudgetCheck = (current: BudgetDefinition) => void | Promise<void>;

/** The fields that define a warning: once one of them differs, the budget has warned in no window yet. */
const WARNED = ["limitNanoUsd", "per", "scope", "each", "shape", "warnAt", "countsFrom", "calendar"] as const;
/** The fields that say which counters it has. */
const COUNTERS = ["per", "scope", "each", "shape"] as const;

/** Returns the statement that forgets the windows in which a budget has warned: its limit is another one now. */
export function forgetWarnings(budgetId: string): Statement {
  return { sql: "DELETE FROM alert_claims WHERE rule_id = ?", args: [budgetId] };
}

/**
 * Changes the given fields. What results is checked as a whole, and committed if no other writer has changed the budget
 * meanwhile. With a check, only the budget that has passed it is changed. If nothing differs, `updated_at` stays.
 *
 * @throws {PurserError} `not_found`; `invalid`, naming the field
 */
export async function updateBudget(
  ctx: BudgetContext,
  budgetId: string,
  changes: BudgetChanges,
  check?: BudgetCheck,
): Promise<Budget> {
  const { readBudgetInput } = await import("../contract/budgets/budgets.ts");
  await BUDGETS.change(ctx.query, budgetId, ofDefinition(check), async (before, isUnchanged) => {
    const named = await withKnownNames(ctx, changes, before.scope);
    const after = toAuthoredRow(readBudgetInput({ ...inputOf(before), ...withoutUndefined(named) }));
    const changed = BUDGETS.changed(before, after);
    if (changed.size === 0) return;
    const now = ctx.clock.now();
    const isCountedAnew = changed.has("scope") || changed.has("shape") || changed.has("calendar");
    await writeBudgets(ctx, [
      isUnchanged,
      ...(isCountedAnew ? countersFor(after, now) : []),
      ...BUDGETS.update({ author: ctx.author, now }, before, after),
      ...(isCountedAnew ? dropCounters(before) : []),
      ...(COUNTERS.some((field) => changed.has(field)) ? [expireTickets(budgetId)] : []),
      ...(WARNED.some((field) => changed.has(field)) ? [forgetWarnings(budgetId)] : []),
    ]);
  });
  return await getBudget(ctx, budgetId);
}

const ofDefinition = (check: BudgetCheck | undefined) =>
  check && ((row: BudgetRow) => check(toDefinition(row)));

/**
 * Removes a budget with its raises and releases, with a check only the one that has passed it; its alerts stay in the history.
 *
 * @throws {PurserError} `not_found`
 */
export async function removeBudget(ctx: BudgetContext, budgetId: string, check?: BudgetCheck): Promise<void> {
  await BUDGETS.remove(
    ctx.query,
    editOf(ctx),
    budgetId,
    ofDefinition(check),
    (statements) =>
      writeBudgets(ctx, [
        ...statements,
        { sql: "DELETE FROM budget_raises WHERE budget_id = ?", args: [budgetId] },
        { sql: "DELETE FROM budget_releases WHERE budget_id = ?", args: [budgetId] },
        { sql: "DELETE FROM overshoots WHERE budget_id = ?", args: [budgetId] },
        ...forgetTickets(budgetId),
        forgetWarnings(budgetId),
        ...DROP_SHAPES,
        ...DROP_CALENDARS,
      ]),
  );
}

/** A budget that a program defines. */
export type BudgetInCode = BudgetInput & {
  /** Identifies the budget across restarts. Default: derived from its name. */
  budget_id?: string;
};

/**
 * Stores a program's budgets like any other: adds new ones, and updates the others to the program's definitions; fields
 * that it leaves out get their defaults. Raises and the counts of refused calls stay. Budgets that a program no longer
 * defines are left as they are.
 *
 * @throws {PurserError} `invalid`, naming the fault
 */
export async function ensureBudgets(ctx: BudgetContext, budgets: readonly BudgetInCode[]): Promise<void> {
  if (budgets.length === 0) return;
  const { readBudgetInput } = await import("../contract/budgets/budgets.ts");
  const ensured = await readInCode(budgets, { what: "budget", prefix: "bud", read: readBudgetInput });
  const edit = editOf(ctx);
  const { now } = edit;
  for (const { id: budgetId, input } of ensured) {
    const stored = await BUDGETS.find(ctx.query, budgetId);
    const row = toAuthoredRow(await withKnownNames(ctx, input, stored?.scope), ctx);
    if (!stored) {
      await writeBudgets(ctx, [
        ...countersFor(row, now),
        ...BUDGETS.insert(edit, { budgetId, ...row, createdAt: now, updatedAt: now }),
      ]);
    }
    await updateBudget(ctx, budgetId, inputOf(row));
  }
}
