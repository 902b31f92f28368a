/** The bills of providers: their lines, the sources that they are imported from, and their import. */
export type { BillLine } from "./lines/bill_line.ts";
export { closePeriod, listPeriods, reopenPeriod } from "./periods/periods.ts";
export { undoCorrections } from "./reconcile/correct_calls.ts";
export { reconcileBill } from "./reconcile/reconcile_bill.ts";
export { getReconciliation, listReconciliations, listVariances } from "./reconcile/stored_reconciliations.ts";
