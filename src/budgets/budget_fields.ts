import type { BudgetDefinition, BudgetInput } from "../contract/budgets/budgets.ts";
import { BUDGET_DEFAULTS } from "../contract/limits.ts";
import { toIso } from "../kernel/clock.ts";
import { parseUsd, toUsd } from "../kernel/money.ts";
import {
  BUDGETED,
  dimension,
  type DimensionWith,
  type FieldOf,
  namedBy,
} from "../contract/costs/dimensions.ts";
import { ALL_CALLS, entityOf, scopeOf } from "../ledger/mod.ts";
import { defineAuthored, tables } from "../store/mod.ts";

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

/** Converts a budget that was checked; fields that are not given have their defaults. */
export function toAuthoredRow(input: BudgetInput): AuthoredRow {
  const named = namedBy(input);
  return {
    name: input.name,
    limitNanoUsd: parseUsd(input.limit_usd, "limit_usd"),
    per: input.per,
    scope: named ? scopeOf(named.kind, named.id) : ALL_CALLS,
    each: input.each ?? null,
    mode: input.mode ?? BUDGET_DEFAULTS.mode,
    action: input.action ?? BUDGET_DEFAULTS.action,
    warnAt: [...input.warn_at ?? BUDGET_DEFAULTS.warnAt].sort((a, b) => a - b),
    countsFrom: input.counts_from == null ? null : Date.parse(input.counts_from),
    allowUnpriced: input.allow_unpriced ?? BUDGET_DEFAULTS.allowUnpriced,
    enabled: input.enabled ?? BUDGET_DEFAULTS.enabled,
  };
}

/** Returns the fields that its author sets in wire form. */
export function inputOf(row: AuthoredRow): Required<BudgetInput> {
  const entity = entityOf(row.scope);
  const named = Object.fromEntries(
    BUDGETED.map((kind) => [dimension(kind).field, entity?.kind === kind ? entity.id : null]),
  ) as Pick<BudgetDefinition, FieldOf<DimensionWith<"isBudgeted">>>;
  return {
    name: row.name,
    limit_usd: toUsd(row.limitNanoUsd),
    per: row.per,
    ...named,
    each: row.each,
    mode: row.mode,
    action: row.action,
    warn_at: row.warnAt,
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
