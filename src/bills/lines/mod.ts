/** Exact decimal numbers. */
export { addDecimals } from "./decimal.ts";
