/** Budgets: `decideCall()` makes the decision to refuse a call; the gate applies it with reservations in the database. */
export {
  type Budget,
  budgetExceeded,
  type CallBounds,
  type CallDecision,
  decideCall,
  type RefusalReason,
} from "./decide_call.ts";
export {
  type Admission,
  type BudgetGate,
  type CallRequest,
  createBudgetGate,
  type Grant,
  RENEW_MS,
  settleReservations,
} from "./budget_gate.ts";
export { reservationLogic, SELECT_RESERVING, sweepReservations } from "./reservations.ts";
