/** The windows of plans, such as subscriptions: measured by their providers, never estimated. */
export { type PlanOrigin, recordPlanWindows } from "./record_plan_windows.ts";
export { type MeasuredWindow, readPlanWindows, type WindowFilter } from "./read_plan_windows.ts";
export { type EndedQuota, endedQuota, planQuotaEnded } from "./plan_quota.ts";
export { listPlanWindows, type PlanContext } from "./list_plan_windows.ts";
