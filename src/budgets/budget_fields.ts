import type { BudgetDefinition, BudgetInput } from "../contract/budgets/budgets.ts";
import { BUDGET_DEFAULTS } from "../contract/limits.ts";
import { toIso } from "../kernel/clock.ts";
import { parseUsd, toUsd } from "../kernel/money.ts";
import { fieldsOf, type Subject, subjectsOf } from "../contract/budgets/subjects.ts";
import { calendarFieldsOf, calendarFor } from "../contract/calendars/calendar_input.ts";
import type { Calendar } from "../contract/calendars/zones.ts";
import { BUDGETED, type DimensionWith } from "../contract/costs/dimensions.ts";
import {
  addCalendar,
  addShapes,
  ALL_CALLS,
  DROP_CALENDARS,
  DROP_SHAPES,
  entityOf,
  isScopeBy,
  scopeBy,
  scopeOf,
  shapeIn,
  shapeOf,
  subjectsIn,
} from "../ledger/mod.ts";
import { defineAuthored, type Statement, tables } from "../store/mod.ts";

/* A budget on the wire and in its table. */

export type BudgetRow = typeof tables.budgets.$inferSelect;

const STATE = ["refusedCalls", "lastRefusedAt"] as const;

/** The columns that a budget's author sets. */
export type AuthoredRow = Omit<BudgetRow, "budgetId" | "createdAt" | "updatedAt" | typeof STATE[number]>;

/** The statements of budgets. */
export const BUDGETS = defineAuthored(tables.budgets, {
  what: "budget",
  kind: "budget",
  id: "budgetId",
  state: STATE,
  show: (row) => inputOf(row),
});

/** In place of a share of the limit at which a budget warns: the forecast that the limit will be reached. */
export const FORECAST = 0;

const isCounted = (part: string): part is DimensionWith<"isBudgeted"> =>
  BUDGETED.some((kind) => kind === part);

/** Returns the scope of the calls that a budget of some subjects counts. */
function scopeFor(subjects: readonly Subject[]): string {
  const [first, ...others] = subjects;
  if (first === undefined) return ALL_CALLS;
  const [part, value] = first;
  return others.length === 0 && isCounted(part) ? scopeOf(part, value!) : scopeBy(subjects);
}

/**
 * Returns the shape of the counters of a budget that has one for each value of a part, session or tree; null where they are those of
 * all calls of an agent, session, key or run, and where it names the value.
 */
function shapeFor(
  subjects: readonly Subject[],
  { per, each }: Pick<BudgetInput, "per" | "each">,
): string | null {
  const part = each ?? (per === "session" || per === "tree" ? per : undefined);
  if (part === undefined || subjects.some(([named]) => named === part)) return null;
  // A session is counted as a whole, also of one agent or key.
  const isWhole = part === "session" && subjects.length === 1 && isCounted(subjects[0]![0]);
  if (isCounted(part) && (subjects.length === 0 || isWhole)) return null;
  return shapeOf([...subjects.map(([named]) => named), part]);
}

/** Returns the subjects that a budget names. */
export function subjectsOfScope(scope: string): Subject[] {
  if (isScopeBy(scope)) return subjectsIn(scope);
  const entity = entityOf(scope);
  return entity ? [[entity.kind as DimensionWith<"isBudgeted">, entity.id]] : [];
}

/** Returns the shapes by which spending has to be counted for a budget. */
export const shapesOf = ({ scope, shape }: Pick<BudgetRow, "scope" | "shape">): string[] => [
  ...(isScopeBy(scope) ? [shapeIn(scope)] : []),
  ...(shape === null ? [] : [shape]),
];

/** The columns by which a budget or a rule counts. */
type Counted = Pick<BudgetRow, "scope" | "shape" | "calendar">;

/** Returns the statements by which spending is counted for a budget or a rule. */
export const countersFor = (row: Counted, now: number): Statement[] => [
  ...addShapes(shapesOf(row), now),
  ...addCalendar(row.calendar, now),
];

/** Returns the statements that remove the shapes and the calendar that a budget or a rule has had, unless another one has them. */
export const dropCounters = (before: Counted): Statement[] => [
  ...(shapesOf(before).length === 0 ? [] : DROP_SHAPES),
  ...(before.calendar === null ? [] : DROP_CALENDARS),
];

/** Converts a budget that was checked; fields that are not given have their defaults, and those of the server's calendar. */
export function toAuthoredRow(input: BudgetInput, server: Partial<Calendar> = {}): AuthoredRow {
  const subjects = subjectsOf(input);
  return {
    name: input.name,
    limitNanoUsd: parseUsd(input.limit_usd, "limit_usd"),
    per: input.per,
    scope: scopeFor(subjects),
    each: input.each ?? null,
    shape: shapeFor(subjects, input),
    mode: input.mode ?? BUDGET_DEFAULTS.mode,
    action: input.action ?? BUDGET_DEFAULTS.action,
    warnAt: [
      ...input.forecast ? [FORECAST] : [],
      ...[...input.warn_at ?? BUDGET_DEFAULTS.warnAt].sort((a, b) => a - b),
    ],
    calendar: calendarFor(input.per, input, server),
    countsFrom: input.counts_from == null ? null : Date.parse(input.counts_from),
    allowUnpriced: input.allow_unpriced ?? BUDGET_DEFAULTS.allowUnpriced,
    enabled: input.enabled ?? BUDGET_DEFAULTS.enabled,
  };
}

/** Returns the fields that its author sets in wire form. */
export function inputOf(row: AuthoredRow): Required<BudgetInput> {
  return {
    name: row.name,
    limit_usd: toUsd(row.limitNanoUsd),
    per: row.per,
    ...fieldsOf(subjectsOfScope(row.scope)),
    each: row.each,
    mode: row.mode,
    action: row.action,
    forecast: row.warnAt.includes(FORECAST),
    warn_at: row.warnAt.filter((share) => share !== FORECAST),
    ...calendarFieldsOf(row.calendar),
    counts_from: row.countsFrom === null ? null : toIso(row.countsFrom),
    allow_unpriced: row.allowUnpriced,
    enabled: row.enabled,
  };
}

/** Converts a row to its wire form, without its state. */
export function toDefinition(row: BudgetRow): BudgetDefinition {
  return {
    budget_id: row.budgetId,
    ...inputOf(row) as Omit<BudgetDefinition, "budget_id" | "created_at" | "updated_at">,
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}
