/** Books model calls: ledger, events and reservations in one commit; alerts and totals follow from it. */
export type { CallContext } from "./context.ts";
export type { KeptCall } from "./spool/mod.ts";
export { bookCall, bookLooseCalls, type RunBooking } from "./book_call.ts";
export {
  bookLeftCalls,
  bookMadeCall,
  giveUpClaim,
  keepCall,
  readLedgerId,
  requireLedger,
} from "./keep_call.ts";
export { rollUp, RollUps } from "./roll_up.ts";
export { bookReportedCalls, type ReportedCall } from "./book_reported_calls.ts";
export type { BookedReport } from "../contract/cost_events.ts";
export { estimateCost } from "./estimate_cost.ts";
export { contentOf, estimateTokens, textsOf } from "./answer_text.ts";
export { type CallSize, CANCELLED, settleUsage, type UsageReport, usageText } from "./settle_usage.ts";
export { type AdmittedTerms, pricesNow, sendAdmitted } from "./send_admitted.ts";
export { chargeEvidence } from "./charge_evidence.ts";
export { logRefusal, overshotBudget, refusalEvent, type Refused, refusedCall } from "./refused_call.ts";
