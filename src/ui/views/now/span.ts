import { apiPath } from "../../hooks/route.ts";
import type { Span } from "../spans/span.ts";

/** The groups that spending is split by. */
export const GROUPS = [{ value: "model", label: "Models" }, { value: "agent", label: "Agents" }] as const;
export type Group = typeof GROUPS[number]["value"];

/** The most rows that a request for bars returns: pairs of a bar and a group. */
export const MAX_ROWS = 1000;

export function barsPath({ from, to, time_zone, isHourly }: Span, group: Group): string {
  return apiPath("/costs", {
    group_by: isHourly ? "hour" : "day",
    split_by: group,
    ...{ from, to, time_zone },
    limit: MAX_ROWS,
  });
}

export function groupsPath({ from, to, time_zone }: Span, group: Group): string {
  return apiPath("/costs", { group_by: group, from, to, time_zone });
}

export function totalPath({ from, to, time_zone }: Span): string {
  return apiPath("/costs/total", { from, to, time_zone });
}
