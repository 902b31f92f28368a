/** The bills of providers: their lines, the sources that they are imported from, and their import. */
export type { BillLine } from "./lines/bill_line.ts";
