/** The windows of plans, such as subscriptions: measured by their providers, never estimated. */
export { type PlanOrigin, recordPlanWindows } from "./record_plan_windows.ts";
export { readPlanWindows } from "./read_plan_windows.ts";
export { describeEnded, isOfAllModels, planQuotaEnded } from "./plan_quota.ts";
export { listPlanWindows } from "./list_plan_windows.ts";
