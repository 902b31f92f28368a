import type { DimensionWith, FieldOf } from "../../contract/costs/dimensions.ts";
import { apiPath, uiPath } from "../hooks/route.ts";

/** The filters of cost pages, as those of `GET /costs`; null is no filter. */
export type CostFilters = Readonly<
  Partial<Record<FieldOf<DimensionWith<"isFilter">> | "tag" | "from" | "to", string | null>>
>;

/** Returns the address of the costs of some calls, of all time without a span. */
export function costsHref(filters: CostFilters = {}): string {
  const isBounded = filters.from != null || filters.to != null;
  return apiPath(uiPath("costs"), { ...filters, span: isBounded ? undefined : "all" });
}

/** Returns the address of a session, at the step of a run or a call if given. */
export function sessionHref(sessionId: string, { run_id, call_id }: {
  run_id?: string | null;
  call_id?: string | null;
} = {}): string {
  return apiPath(uiPath("sessions", sessionId), {
    call: call_id ?? undefined,
    run: call_id ? undefined : run_id ?? undefined,
  });
}

/** Returns the address of the runs of a session, each with its cost; undefined without a session. */
export function runsHref(sessionId: string | null | undefined): string | undefined {
  return sessionId == null ? undefined : `${sessionHref(sessionId)}?tab=runs`;
}

/** Returns the address of a page of budgets and alerts. */
export function budgetsHref(...parts: string[]): string {
  return uiPath("budgets", ...parts);
}

/** Returns the address of a budget's page, or of a rule's. An alert has the id of either. */
export function limitHref(id: string): string {
  return id.startsWith("bud_") ? budgetsHref(id) : budgetsHref("rules", id);
}
