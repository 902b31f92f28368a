/** What runs work with: models and tools. Every process has them at hand, also one that runs nothing. */
export { checkModelName, createModelResolver } from "./models/models.ts";
export { createToolbox, loadToolModules } from "./tools/tools.ts";
export { createUnfinishedRuns, type UnfinishedRuns } from "./unfinished_runs.ts";
