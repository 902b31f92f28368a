/** The life of a model call: it is opened, sent and settled, or reported, and booked in one commit with all that belongs to it. */
export type { CallContext } from "./context.ts";
export type { KeptCall } from "./spool/mod.ts";
export { bookCall, bookLooseCalls, type RunBooking } from "./book_call.ts";
export { bookLeftCalls, bookMadeCall, giveUpClaim, keepCall } from "./keep_call.ts";
export { type BookingWriter, createBookingWriter } from "./booking_set.ts";
export { rollUp, RollUps } from "./roll_up.ts";
export { reportCalls, type ReportedCall } from "./report_calls.ts";
export { contentOf, textsOf } from "./answer_text.ts";
export { CANCELLED, type UsageReport } from "./settle_usage.ts";
export { logCallEvent, refusalEvent } from "./refused_call.ts";
export { findOvershoots, recordOvershoot } from "./overshoots.ts";
export type { AnswerFacts, BookCall, CallRequest, CallTerms, InputBound, OpenCall } from "./call_terms.ts";
export { openCall } from "./open_call.ts";
export { modelErrorText } from "./error_text.ts";
export { isPlaceholder } from "./sightings/match_calls.ts";
export { sightCalls } from "./sightings/sight_calls.ts";
export type { SightingOrigin } from "./sightings/said.ts";
export type { Quality, Sighting } from "./sightings/sighting.ts";
