import { DAY_MS, HOUR_MS } from "../../../kernel/clock.ts";
import { apiPath } from "../../hooks/route.ts";
import type { Span } from "../spans/span.ts";
import { IN_UTC, timeOf } from "../spans/utc_days.ts";

/** The groups that spending is split by. */
export const GROUPS = [{ value: "model", label: "Models" }, { value: "agent", label: "Agents" }] as const;
export type Group = typeof GROUPS[number]["value"];

/** The most rows that a request for bars returns: pairs of a bar and a group. */
export const MAX_ROWS = 1000;

export function barsPath({ from, to, isHourly }: Span, group: Group): string {
  return apiPath("/costs", {
    group_by: isHourly ? "hour" : "day",
    split_by: group,
    ...{ from, to, ...IN_UTC },
    limit: MAX_ROWS,
  });
}

export function groupsPath({ from, to }: Span, group: Group): string {
  return apiPath("/costs", { group_by: group, from, to, ...IN_UTC });
}

export function totalPath({ from, to }: Span): string {
  return apiPath("/costs/total", { from, to, ...IN_UTC });
}

/** Returns the end of a bar, exclusive. */
export function endOfBar({ isHourly }: Pick<Span, "isHourly">, start: number): string {
  return timeOf(start + (isHourly ? HOUR_MS : DAY_MS));
}
