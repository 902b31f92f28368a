/** The sources of bills, and their import. */
export type { BillPage, BillSource } from "../sources/bill_source.ts";
export { loadAllSources, loadSource } from "../sources/load_sources.ts";
export { BillRefusal, fetchAll, PageExpired } from "../sources/bill_source.ts";
export { BillBusy, createAsk, keyIn } from "./ask.ts";
export { importDueBills } from "./daily_imports.ts";
export { addLines, beginFile, checkAccount, importToEnd, stepImport } from "./import_bill.ts";
export { openBillFile } from "./open_bill_file.ts";
