/** The explanation of one call: its price, its corrections, and what its witnesses have said. */
export { explainCall, readRates } from "./explain_call.ts";
export { explainPrice } from "./explain_price.ts";
export { type Said, saidBesides } from "./said.ts";
export { AROUND_WITNESS, witnessesInRows, witnessOfCall } from "./witnesses.ts";
