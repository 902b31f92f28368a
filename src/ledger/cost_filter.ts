import { type TagGroup, tagKeyOf, type Tags } from "../contract/tags/tags.ts";
import type { CostSort, Grouping, Split } from "../contract/values.ts";
import { NANO_PER_USD } from "../kernel/money.ts";
import type { SqlValue } from "../store/mod.ts";

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

/** SQL for the value of a tag of a call; null without it. */
export function tagValue(group: TagGroup): string {
  const key = tagKeyOf(group);
  if (key === undefined) throw new TypeError(`${group} is no group by a tag`); // it is part of the SQL
  return `json_extract(tags, '$."${key}"')`;
}

/** Returns whether a scope has a condition on tags, which no rollup has. */
export function hasTags({ tags }: CostScope): boolean {
  return tags !== undefined && Object.keys(tags).length > 0;
}

/** SQL conditions on the calls of a scope, or on rollup rows if it has no tags; their arguments are appended. */
export function conditionsOf(scope: CostScope, args: SqlValue[]): string[] {
  const all: string[] = [];
  const add = (condition: string, ...values: SqlValue[]) => {
    all.push(condition);
    args.push(...values);
  };
  if (scope.agentId !== undefined) add("agent_id = ?", scope.agentId);
  if (scope.provider !== undefined) add("provider = ?", scope.provider);
  if (scope.model !== undefined) add("(model = ? OR provider || ':' || model = ?)", scope.model, scope.model);
  if (hasTags(scope)) add("tags IS NOT NULL");
  for (const [key, value] of Object.entries(scope.tags ?? {})) add(`${tagValue(`tag:${key}`)} = ?`, value);
  return all;
}

/** The largest time of a `Date`. */
export const MAX_TIME = 8_640_000_000_000_000;

/**
 * SQL for an order by cost, highest first. The rest may be any sum of nano-USD, also a negative one, so that it is first
 * carried over to the whole USD.
 */
export function dearestFirst(whole: string, rest: string): string {
  const own = `((${rest}) % ${NANO_PER_USD} + ${NANO_PER_USD}) % ${NANO_PER_USD}`;
  return `${whole} + ((${rest}) - ${own}) / ${NANO_PER_USD} DESC, ${own} DESC`;
}
