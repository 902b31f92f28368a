/** Budgets: decide (pure), reserve, settle. */
export {
  type Budget,
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
export { RESERVATION_MS, reservationLogic } from "./reservation_logic.ts";
export { budgetExceeded } from "./budget_exceeded.ts";
export { sweepReservations } from "./sweep_reservations.ts";
