/**
 * Runs agents and meters models. A model call passes the budget (`decideCall()` in budgets/decide_call.ts), is made, and
 * is booked (`bookCall()` in calls/book_call.ts): see `metering/meter_model.ts`. A run starts, ends, is cancelled and
 * recovered in sessions/.
 */
export type { RunnerContext } from "./context.ts";
export { runAgent, type RunInput, type RunPart } from "./run_agent.ts";
export type { RunResult } from "../contract/runs.ts";
export { meter, type MeterContext } from "./metering/meter.ts";
export type { ModelResolver, ResolvedModel } from "./models/mod.ts";
export type { Toolbox, ToolKit } from "./tools/mod.ts";
