/** Readers of what providers and agents say of the windows of plans. Pure functions. */
export { CREDITS, fieldsOf, type PlanWindow, wordOf } from "./plan_window.ts";
export { readStatusLineWindows } from "./status_line.ts";
export { readCodexWindows } from "./codex.ts";
export { hasPlanHeaders, isPaidByPlan, readPlanHeaders, sayEnded } from "./plan_headers.ts";
export { windowFromWire, windowToWire } from "./wire.ts";
