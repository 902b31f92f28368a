/** The contract of sources of bills, for modules that define one: `purser/bills`. */
export type { BillFile, BillPage, BillRequest, BillSource, FetchContext, FetchQuery } from "./bill_source.ts";
export type { BillLine } from "../lines/bill_line.ts";
export type { BillSourceKit, BillSourceModule } from "./load_sources.ts";
