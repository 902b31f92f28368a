import { DAY_MS, HOUR_MS } from "../../../kernel/clock.ts";
import { apiPath } from "../../hooks/route.ts";

/** The spans of time of the home page, in days of UTC. */
export const SPANS = [
  { value: "", label: "Today", of: "today" },
  { value: "7d", label: "7 days", of: "in the last 7 days" },
  { value: "month", label: "Month", of: "this month" },
  { value: "all", label: "All", of: "in all time" },
] as const;
export type SpanName = typeof SPANS[number]["value"];

/** The groups that spending is split by. */
export const GROUPS = [{ value: "model", label: "Models" }, { value: "agent", label: "Agents" }] as const;
export type Group = typeof GROUPS[number]["value"];

/** A span of days until now. */
export interface Span {
  name: SpanName;
  /** "today", "in the last 7 days". */
  of: string;
  /** The first day; undefined for all time. */
  from: string | undefined;
  /** The unit of its bars. */
  unit: "hour" | "day";
}

/** Returns the span of a name in the URL, which ends today. */
export function spanOf(name: string | null, today: string): Span {
  const { value, of } = SPANS.find(({ value }) => value === name) ?? SPANS[0];
  const from = value === ""
    ? today
    : value === "7d"
    ? addDays(today, -6)
    : value === "month"
    ? `${today.slice(0, 8)}01`
    : undefined;
  return { name: value, of, from, unit: value === "" ? "hour" : "day" };
}

/** The most rows that a request for bars returns: pairs of a bar and a group. */
export const MAX_ROWS = 1000;

export function barsPath({ from, unit }: Span, group: Group): string {
  return apiPath("/costs", { group_by: unit, split_by: group, from, limit: MAX_ROWS });
}

export function groupsPath({ from }: Span, group: Group): string {
  return apiPath("/costs", { group_by: group, from });
}

export function totalPath({ from }: Span): string {
  return apiPath("/costs/total", { from });
}

/** Returns the day, some days later. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the starts of all bars from the first to the last, both included. */
export function startsOf(unit: Span["unit"], first: string, last: string): string[] {
  if (unit === "hour") {
    return Array.from({ length: 24 }, (_, hour) => new Date(Date.parse(last) + hour * HOUR_MS).toISOString());
  }
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS;
  return Array.from({ length: days + 1 }, (_, index) => addDays(first, index));
}

/** Returns the end of a bar, exclusive. */
export function endOfBar(unit: Span["unit"], start: string): string {
  return unit === "day" ? addDays(start, 1) : new Date(Date.parse(start) + HOUR_MS).toISOString();
}
