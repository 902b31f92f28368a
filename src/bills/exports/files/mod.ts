/** The files of exports, in a folder or a bucket; a client writes them from the pages of the API. */
export { exportCalls } from "./export_calls.ts";
export { exportCharges } from "./export_charges.ts";
export { openTarget } from "./export_target.ts";
export { toCsv } from "./table_file.ts";
