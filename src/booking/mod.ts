/** The one write of a model call: ledger, totals and events. */
export type { BookingContext } from "./context.ts";
export { bookCall, bookLooseCalls, publishEvents, type RunBooking } from "./book_call.ts";
export { rollUp, RollUps } from "./roll_up.ts";
export { type BookedReport, bookReportedCalls, type ReportedCall } from "./book_reported_calls.ts";
