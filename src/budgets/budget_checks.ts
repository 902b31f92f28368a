import { and, eq, inArray } from "drizzle-orm";
import type { BudgetCheck } from "../contract/budgets/budget_checks.ts";
import type { Clock } from "../kernel/clock.ts";
import { toUsd } from "../kernel/money.ts";
import { nameField, type Names, readNames } from "../keys/mod.ts";
import { BUDGETED } from "../contract/costs/dimensions.ts";
import { ALL_CALLS, ALL_SEEING, scopeIn, type Scopes, scopeText, type Viewer } from "../ledger/mod.ts";
import { type Query, type Store, tables } from "../store/mod.ts";
import { countersOf } from "./budget_counters.ts";
import type { BudgetRow } from "./budget_fields.ts";
import { describeFigures, type Figures, readFigures } from "./budget_states.ts";

/** The agent, session and key of a call to check; one that is not given is that of no budget. */
type CheckedCall = Partial<Scopes>;

const { agents, budgets } = tables;

/**
 * Returns the budgets that apply to a call, the one with the least left first. It reserves nothing. A viewer of one agent gets no
 * amounts of counters over all agents.
 */
export async function checkBudgets(
  ctx: { store: Store; query: Query; clock: Pick<Clock, "now"> },
  call: CheckedCall,
  viewer: Viewer = ALL_SEEING,
): Promise<BudgetCheck[]> {
  const { agentId } = call;
  const own = BUDGETED.flatMap((kind) => scopeIn(kind, call) ?? []);
  const matching = await ctx.query.select().from(budgets)
    .where(and(eq(budgets.enabled, true), inArray(budgets.scope, [ALL_CALLS, ...own])));

  const counterOf = (row: BudgetRow) => {
    const kind = countersOf(row);
    return kind === undefined ? row.scope : scopeIn(kind, call) ?? undefined;
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
  const [figures, names] = await Promise.all([
    readFigures(ctx, rows.map((row) => ({ row, scope: row.counter }))),
    readNames(ctx, rows.map(({ counter }) => counter)),
  ]);
  return rows.map((row, index) => ({ row, check: toCheck(row, figures[index]!, names) }))
    .sort((a, b) => a.check.left_usd - b.check.left_usd)
    .map(({ row, check }) => !viewer.seesAll && row.counter === ALL_CALLS ? withoutAmounts(check) : check);
}

/** A budget, or an agent's limit of each run, with the counter in which the call would count. */
type AppliedBudget =
  & Pick<BudgetRow, "per" | "each" | "mode" | "action" | "limitNanoUsd" | "warnAt" | "countsFrom">
  & { budgetId: string | null; name: string | null; counter: string | undefined };

function withoutAmounts(check: BudgetCheck): BudgetCheck {
  const { extra_usd: _extra, spent_usd: _spent, reserved_usd: _reserved, left_usd: _left, ...rest } = check;
  return rest;
}

function toCheck(row: AppliedBudget, figures: Figures, names: Names) {
  return {
    budget_id: row.budgetId,
    name: row.name,
    per: row.per,
    scope: row.counter === undefined
      ? `new ${row.per === "run" ? "run" : "session"}`
      : scopeText(row.counter),
    ...nameField(names, row.counter),
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
