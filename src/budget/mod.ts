/** Budgets: decide (pure), reserve, settle. */
export {
  type Budget,
  type CallBounds,
  type CallDecision,
  decideCall,
  type RefusalReason,
} from "./decide_call.ts";
export type { Admission, BudgetGate, CallRequest, Grant } from "./budget_gate.ts";
export { createMemoryGate } from "./memory_gate.ts";
export { createDatabaseGate, RESERVATION_MS } from "./database_gate.ts";
export { budgetExceeded } from "./budget_exceeded.ts";
