/**
 * The reservations of calls, in every budget that counts them. The gate decides on a call by a write, whose condition is `decideCall()` in SQL
 * (`reservations.ts`), on what each counter has settled and reserved (`standing_sql.ts`).
 */
export { type Admission, type BudgetGate, createBudgetGate, type Grant, RENEW_MS } from "../budget_gate.ts";
export { listReleases, releaseHolds } from "./releases.ts";
export {
  FORGET_HEADROOM,
  freeReported,
  type ReservedElsewhere,
  SELECT_RESERVING,
  settleReservations,
  sweepReservations,
} from "./reservations.ts";
export {
  type ElsewhereRequest,
  releaseElsewhere,
  type ReservedUntil,
  reserveElsewhere,
} from "./reserve_elsewhere.ts";
