/** The ledger: stores booked calls, rolls them up, and sums and lists costs. */
export { MAX_AHEAD_MS, type ModelCall } from "./model_call.ts";
export { toCostEvent } from "./cost_event.ts";
export type { CostEvent } from "../contract/usage.ts";
export { costUsd, type Counters, noCounters, toTokenUsage } from "./counters.ts";
export type { TokenUsage } from "../contract/usage.ts";
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
export { type CostFilter, listCosts } from "./list_costs.ts";
export type { CostRow } from "../contract/costs.ts";
export { sumSteps } from "./sum_steps.ts";
export type { StepCost } from "../contract/sessions.ts";
