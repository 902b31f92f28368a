/** Running agents: models, tools, metering, cancelling. */
export type { LiveRun, RunnerContext } from "./context.ts";
export { runAgent, type RunInput } from "./run_agent.ts";
export type { RunPart, RunResult } from "./run_result.ts";
export { cancelRun } from "./cancel_run.ts";
export { meter, type MeterContext } from "./meter.ts";
export { checkModelName, createModelResolver, type ModelResolver, type ResolvedModel } from "./models.ts";
export { createToolbox, loadToolModules, type Toolbox, type ToolKit } from "./tools.ts";
