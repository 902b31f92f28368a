import { DAY_SPANS, type DaySpan, type ReportDays } from "../contract/windows.ts";
import type { DIMENSIONS, DimensionWith } from "../contract/costs/dimensions.ts";
import type { TagGroup, Tags } from "../contract/tags/tags.ts";
import type { CostSort, Grouping, Split } from "../contract/values.ts";
import { AS_WHOLE } from "./scopes/mod.ts";

/** A span in milliseconds: `from` inclusive, `to` exclusive; undefined is unlimited. */
export interface TimeSpan {
  from?: number;
  to?: number;
}

/** A value of some dimensions, by the property of a call; that of `model` may be the provider, a colon and the name. */
export type DimensionValues = {
  [Name in DimensionWith<"isFilter"> as (typeof DIMENSIONS)[Name]["property"]]?: string | undefined;
};

/** The calls to sum: those of a session are read one by one. */
export interface CostScope extends TimeSpan, DimensionValues {
  /** Tags that a call has, all of them. */
  tags?: Tags;
  /** A second span, whose sums are beside those of the first. */
  compare?: TimeSpan;
}

/** The calls to sum, and the groups to list. */
export interface CostFilter extends CostScope {
  groupBy: Grouping | TagGroup;
  /** A second level of groups within those of `groupBy`, which is no session or run. */
  splitBy?: Split | TagGroup;
  /** Default: time for sessions, runs, hours, days, weeks and months, cost for the others, which have no time. */
  sort?: CostSort;
  /** The days of which days, weeks and months are made; default: those of UTC. */
  days?: ReportDays | undefined;
  /** The position of the last entry of the ledger that counts; not for sessions, runs and a second span. */
  upTo?: number;
  limit: number;
  offset: number;
}

/** Returns the order of the groups. */
export function sortOf({ groupBy, sort }: CostFilter): CostSort {
  return isTimed(groupBy) ? sort ?? "time" : "cost";
}

/** Returns whether groups have a time. */
export function isTimed(groupBy: CostFilter["groupBy"]): boolean {
  return isEntity(groupBy) || groupBy === "hour" || isDaySpan(groupBy);
}

/** Returns whether groups are made of days. */
export const isDaySpan = (groupBy: string): groupBy is DaySpan => DAY_SPANS.some((span) => span === groupBy);

/** Returns whether groups are sessions or runs, which begin and end. */
export function isEntity(groupBy: CostFilter["groupBy"]): groupBy is "session" | "run" {
  return (AS_WHOLE as readonly string[]).includes(groupBy);
}
