import type { TagGroup, Tags } from "../contract/tags/tags.ts";
import type { CostSort, Grouping, Split } from "../contract/values.ts";

/** A span in milliseconds: `from` inclusive, `to` exclusive; undefined is unlimited. */
export interface TimeSpan {
  from?: number;
  to?: number;
}

/** The calls to sum. */
export interface CostScope extends TimeSpan {
  agentId?: string;
  /** The name of a model, or the provider, a colon and the name. */
  model?: string;
  provider?: string;
  /** The API key that requested the calls. */
  keyId?: string;
  /** The calls of one session, which are read one by one. */
  sessionId?: string;
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
  /** Default: time for sessions, runs, hours and days, cost for the others, which have no time. */
  sort?: CostSort;
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
  return groupBy === "session" || groupBy === "run" || groupBy === "hour" || groupBy === "day";
}
