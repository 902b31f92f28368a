/** Running agents: metering, cancelling. Their models and tools come from `equipment.ts`. */
export type { LiveRun, RunnerContext } from "./context.ts";
export { runAgent, type RunInput } from "./run_agent.ts";
export type { RunPart, RunResult } from "./run_result.ts";
export { cancelRun } from "./cancel_run.ts";
export { meter, type MeterContext } from "./metering/meter.ts";
export type { ModelResolver, ResolvedModel } from "./models/models.ts";
export type { Toolbox, ToolKit } from "./tools/toolbox.ts";
