/**
 * Budgets: limits on the cost of runs, sessions, agents, keys or all calls. `decideCall()` makes the decision to refuse a
 * call; the gate applies it with reservations in the database, whose condition is the same decision in SQL
 * (`reservations.ts`), on what each counter has settled and reserved (`standing_sql.ts`).
 */
export {
  type Budget,
  type CallBounds,
  type CallDecision,
  decideCall,
  type Refusal,
  type Standing,
} from "./decide_call.ts";
export {
  type Admission,
  type BudgetGate,
  type CallRequest,
  createBudgetGate,
  type Grant,
  LONGEST_WAIT_MS,
  RENEW_MS,
} from "./budget_gate.ts";
export { budgetExceeded, readRefusingKeys, type RefusedModel } from "./refusals.ts";
export { listRefusals, type RefusalFilter } from "./list_refusals.ts";
export { KnownBudgets } from "./known_budgets.ts";
export {
  FORGET_HEADROOM,
  freeReported,
  type ReservedElsewhere,
  SELECT_RESERVING,
  settleReservations,
  sweepReservations,
} from "./reservations/reservations.ts";
export {
  type ElsewhereRequest,
  releaseElsewhere,
  type ReservedUntil,
  reserveElsewhere,
} from "./reservations/reserve_elsewhere.ts";
export { type CounterState, LOOKED_UP, readStandings, readStandingsOf } from "./standings.ts";
export { entityOf, runScope, scopeText, sessionScope } from "./scopes.ts";
export { type CallScopes, type CallToDecide, type RunAbove, toCallRow } from "./call_to_decide.ts";
export {
  CALL_COLUMNS,
  CEILING,
  EACH_STANDING,
  shareOf,
  SPENT_IN_ALL,
  standingsOf,
} from "./reservations/standing_sql.ts";
export { type BudgetWindow, windowOf } from "./windows.ts";
export {
  type BudgetContext,
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
export { checkBudgets } from "./budget_checks.ts";
export type { BudgetReader } from "./budget_reader.ts";
export { findUnknown } from "./known_scopes.ts";
export { listRaises, raiseBudget } from "./raises.ts";
export { listReleases, releaseHolds } from "./reservations/releases.ts";
