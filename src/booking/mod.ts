/** The one write of a model call: ledger, totals and events. */
export type { BookingContext } from "./context.ts";
export { bookCall, bookLooseCalls, publishEvents, type RunBooking } from "./book_call.ts";
export { rollUp, RollUps } from "./roll_up.ts";
export { bookReportedCalls } from "./book_reported_calls.ts";
export type { BookedReport } from "../contract/cost_events.ts";
export type { ReportedCall } from "./reported_call.ts";
