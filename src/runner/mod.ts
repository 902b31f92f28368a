/** Running agents: metering, cancelling. Their models and tools come from `equipment.ts`. */
export type { LiveRun, RunnerContext } from "./context.ts";
export { runAgent, type RunInput } from "./run_agent.ts";
export type { RunPart } from "./run_result.ts";
export type { RunResult } from "../contract/runs.ts";
export { cancelRun } from "./cancel_run.ts";
export { meter, type MeterContext } from "./metering/meter.ts";
export type { ModelResolver, ResolvedModel } from "./models/models.ts";
export type { Toolbox, ToolKit } from "./tools/tools.ts";
