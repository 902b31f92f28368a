/** The sums of the lines of bills. */
export { addBilled } from "./add_billed.ts";
