/** Books model calls: ledger, events and reservations in one commit; alerts and totals follow from it. */
export type { BookingContext } from "./context.ts";
export { bookCall, bookLooseCalls, type RunBooking } from "./book_call.ts";
export { rollUp, RollUps } from "./roll_up.ts";
export { bookReportedCalls, type ReportedCall } from "./book_reported_calls.ts";
export type { BookedReport } from "../contract/cost_events.ts";
export { contentOf, estimateTokens, textsOf } from "./answer_text.ts";
export { type CallSize, CANCELLED, settleUsage, type UsageReport, usageText } from "./settle_usage.ts";
export { chargeEvidence } from "./charge_evidence.ts";
export { logRefusal, overshotBudget, refusalEvent, type Refused, refusedCall } from "./refused_call.ts";
