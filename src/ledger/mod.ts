/** The ledger: stores booked calls, rolls them up, and sums and lists costs. */
export { MAX_AHEAD_MS, type ModelCall } from "./model_call.ts";
export { type CostEvent, toCostEvent } from "./cost_event.ts";
export { costUsd, type Counters, noCounters, type TokenUsage, toTokenUsage } from "./counters.ts";
export { listCalls, recordCalls, toModelCall } from "./calls.ts";
export * from "./spend_counters.ts";
export {
  firstAgentsOf,
  rollUpTotals,
  tailEntries,
  textAt,
  usageIncrements,
  usageOfIds,
  usageViews,
} from "./usage_sql.ts";
export {
  readAgentUsage,
  readRunUsage,
  readSessionUsage,
  sessionUsageStatement,
  toSessionUsage,
} from "./read_usage.ts";
export { sweepWindows } from "./spend_counters.ts";
export { type CostFilter, type CostRow, listCosts } from "./list_costs.ts";
export { type StepCost, sumSteps } from "./sum_steps.ts";
