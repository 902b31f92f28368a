import type { BudgetDefinition } from "../../../contract/budgets/budgets.ts";
import type { BudgetCheck } from "../../../contract/budgets/budget_checks.ts";
import type { BudgetState } from "../../../contract/budgets/budget_state.ts";
import {
  describeScope,
  type SubjectFields,
  subjectsOf,
  subjectTexts,
} from "../../../contract/budgets/subjects.ts";
import { type Dimension, DIMENSIONS } from "../../../contract/costs/dimensions.ts";
import { budgetsHref, costsHref, limitHref, sessionHref } from "../links.ts";
import { type Limit, shareOf } from "./limit.ts";
import { windowText } from "./periods.ts";

type Budget = BudgetDefinition & BudgetState;

/** Returns a budget as a limit. */
export function limitOfBudget(budget: Budget): Limit {
  return {
    ...amountsOf(budget),
    id: budget.budget_id,
    name: budget.name,
    href: limitHref(budget.budget_id),
    enabled: budget.enabled,
    scope: subjectsText(budget),
    spentHref: spentHrefOf(budget),
    reachesAt: budget.reaches_at,
    usdPerHour: budget.usd_per_hour,
    refusedCalls: budget.refused_calls ?? 0,
  };
}

/** Returns a budget that a call meets as a limit: it is enabled, and its counter is that of the call. */
export function limitOfCheck(check: BudgetCheck): Limit {
  const { budget_id, name } = check;
  return {
    ...amountsOf(check),
    id: budget_id ?? "",
    name: name ?? "the agent's own budget",
    href: budget_id === null ? budgetsHref() : limitHref(budget_id),
    enabled: true,
    scope: describeScope(check),
    spentHref: undefined,
    reachesAt: null,
    usdPerHour: null,
    refusedCalls: 0,
  };
}

/** The fields of a limit that budgets and checks have in common. */
function amountsOf(budget: Budget | BudgetCheck) {
  const { spent_usd = null, reserved_usd = 0, limit_usd, extra_usd = 0 } = budget;
  return {
    kind: "budget" as const,
    per: budget.per,
    period: windowText(budget),
    spent: spent_usd,
    reserved: reserved_usd,
    unpriced: budget.unpriced_calls,
    limit: limit_usd,
    raised: extra_usd,
    left: budget.left_usd,
    // Amounts of other agents are hidden; the state is not.
    share: spent_usd === null
      ? { ok: 0, near: 0.9, reached: 1 }[budget.state]
      : shareOf(spent_usd + reserved_usd, limit_usd + extra_usd),
    state: budget.state,
    stops: budget.action !== "watch",
    resetsAt: budget.resets_at,
  };
}

/** Returns the subjects of a budget or a rule as text. */
export function subjectsText(budget: SubjectFields & { each: string | null }): string {
  const { each } = budget;
  return [...subjectTexts(budget), each && `each ${each}`].filter(Boolean).join(", ") || "all agents";
}

/** Returns the page with the sum that a budget counts; of one with many counters, that of the counter that is shown. */
export function spentHrefOf(
  budget: SubjectFields & Pick<Budget, "counter" | "window_start">,
): string | undefined {
  const { counter, window_start } = budget;
  const [first, ...others] = subjectsOf(budget);
  const of = counter ?? (first && { kind: first[0], id: first[1]! });
  if (of?.kind === "tree" && others.length === 0) return sessionHref(of.id);
  if (of?.kind === "run" || counter === null || others.length > 0 || of && !(of.kind in DIMENSIONS)) {
    return undefined;
  }
  if (of?.kind === "session") return window_start === null ? sessionHref(of.id) : undefined;
  return costsHref({ ...(of && { [DIMENSIONS[of.kind as Dimension].field]: of.id }), from: window_start });
}
