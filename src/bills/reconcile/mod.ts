/** The comparison of a bill with the ledger, and what follows from it: corrections of calls, closed months. */
export { closePeriod } from "../periods/change_periods.ts";
export { loadSource } from "../sources/load_sources.ts";
export { undoCorrections } from "./correct_calls.ts";
export { reconcileBill } from "./reconcile_bill.ts";
