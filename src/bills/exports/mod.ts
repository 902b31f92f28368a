/** The ledger as files of other programs: its entries as they are, and its calls as charges of FOCUS. */
export { exportCalls, type Manifest } from "./export_calls.ts";
export { exportCharges } from "./export_charges.ts";
export { openTarget } from "./export_target.ts";
export { readSharedLines, type SharedLine } from "./focus/bill_charges.ts";
export { readCharges } from "./focus/read_charges.ts";
export { readCalls } from "./read_calls.ts";
export { createTableFile } from "./table_file.ts";
