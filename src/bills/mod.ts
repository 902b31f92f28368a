/** The lines of providers' bills and their imports, as they are kept; `import/` has the sources. */
export { type BillImport as KeptBillImport, listImports } from "./import/store_import.ts";
export { type KeptLine as KeptBillLine, readBillLines } from "./lines/line_rows.ts";
export { listPeriods } from "./periods/periods.ts";
export { reopenPeriod } from "./periods/change_periods.ts";
export { getReconciliation, listReconciliations, listVariances } from "./reconcile/stored_reconciliations.ts";
