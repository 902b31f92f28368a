/** The settings that name a ledger, without the schema of all others. */
export { readTarget, type TargetSettings } from "./read_target.ts";
