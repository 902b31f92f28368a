/**
 * Runs agents and meters models. A model call passes the budget (`decideCall()` in budgets/decide_call.ts), is made, and
 * is booked (`bookCall()` in calls/book_call.ts): see `metering/meter_model.ts`. A run starts, ends, is cancelled and
 * recovered in sessions/.
 */
export { runAgent, type RunInput, type RunPart } from "./run_agent.ts";
export type { RunResult } from "../contract/runs.ts";
export { meter, type MeterContext } from "./metering/meter.ts";
export type { ToolKit } from "./tools/mod.ts";
