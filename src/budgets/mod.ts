/** Budgets: decide (pure), reserve, settle. */
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
  settleReservations,
} from "./budget_gate.ts";
export { RESERVATION_MS, reservationLogic, sweepReservations } from "./reservations.ts";
