/**
 * Budgets: limits on the cost of runs, sessions, agents, keys or all calls. `decideCall()` makes the decision to refuse a
 * call; `reservations/mod.ts` applies it in the database.
 */
export { type Budget, type CallBounds, type Refusal } from "./decide_call.ts";
export { budgetExceeded } from "./refusals.ts";
export { listRefusals } from "./list_refusals.ts";
export { readStandingsOf } from "./standings.ts";
export type { CallScopes } from "./call_to_decide.ts";
export {
  type BudgetInCode,
  createBudget,
  ensureBudgets,
  findBudgetId,
  getBudget,
  listBudgetCounters,
  listBudgets,
  removeBudget,
  updateBudget,
} from "./budgets.ts";
export { readFigures, readLargest } from "./budget_states.ts";
export { checkBudgets } from "./budget_checks.ts";
export { BUDGETS, countersFor, dropCounters, subjectsOfScope, toAuthoredRow } from "./budget_fields.ts";
export { findUnknown, withKnownNames } from "./known_scopes.ts";
export { type BookedScopes, warningsOf } from "./reservations/warn_of_budgets.ts";
export { listRaises, raiseBudget } from "./raises.ts";
