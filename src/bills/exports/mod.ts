/** The ledger for other programs: its entries as they are, and its calls as charges of FOCUS. `files/` writes them. */
export { readSharedLines } from "./focus/bill_charges.ts";
export { readCharges } from "./focus/read_charges.ts";
export { readCalls } from "./read_calls.ts";
