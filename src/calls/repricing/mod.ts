/** Repricings: calls are priced again by today's price book, and the differences booked as adjustments. */
export { applyRepricing, continueRepricing, planRepricing, undoRepricing } from "./reprice_calls.ts";
export { getRepricing, listRepricings } from "./repricings.ts";
