import { apiPath, uiPath } from "../hooks/route.ts";

/** The filters of cost pages, as those of `GET /costs`. */
export interface CostFilters {
  agent_id?: string;
  provider?: string;
  model?: string;
  from?: string;
  to?: string;
}

/** Returns the address of the costs of some calls. */
export function costsHref(filters: CostFilters = {}): string {
  return apiPath(uiPath("costs"), { ...filters });
}

/** Returns the address of a session, at a run or a call of it if given. */
export function sessionHref(sessionId: string, at: { run_id?: string; call_id?: string } = {}): string {
  return apiPath(uiPath("sessions", sessionId), at);
}

/** Returns the address of a page of budgets and alerts. */
export function budgetsHref(...parts: string[]): string {
  return uiPath("budgets", ...parts);
}

/** Returns the address of a budget's page, or of a rule's. An alert has the id of either. */
export function limitHref(id: string): string {
  return id.startsWith("bud_") ? budgetsHref(id) : budgetsHref("rules", id);
}
