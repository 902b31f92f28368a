import { DIMENSIONS, FILTERED } from "../contract/costs/dimensions.ts";
import { type TagGroup, tagKeyOf } from "../contract/tags/tags.ts";
import { NANO_PER_USD } from "../kernel/money.ts";
import type { SqlValue } from "../store/mod.ts";
import type { CostScope } from "./cost_filter.ts";

/**
 * SQL for the tags of an entry of `calls`: with those that witnesses have added to its call, if there are any; null without
 * any. Its corrections have those of the call.
 */
export const tagsOf = (entry: string) =>
  `coalesce(CASE WHEN EXISTS (SELECT 1 FROM call_tags)
    THEN (SELECT t.tags FROM call_tags t WHERE t.call_id = coalesce(${entry}.adjusts, ${entry}.call_id)) END, ${entry}.tags)`;
export const ALL_TAGS = tagsOf("calls");

/** SQL for the value of a tag of a call; null without it. */
export function tagValue(group: TagGroup): string {
  const key = tagKeyOf(group);
  if (key === undefined) throw new TypeError(`${group} is no group by a tag`); // it is part of the SQL
  return `(${ALL_TAGS} ->> '${key}')`;
}

/** SQL for whether an entry of `calls` may have tags. */
const IS_TAGGED = `(calls.tags IS NOT NULL OR EXISTS (SELECT 1 FROM call_tags t
  WHERE t.call_id = coalesce(calls.adjusts, calls.call_id)))`;

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
  for (const name of FILTERED) {
    const { field, property } = DIMENSIONS[name];
    const value = scope[property];
    if (value === undefined) continue;
    if (name === "model") add("(model = ? OR provider || ':' || model = ?)", value, value);
    else add(`${field} = ?`, value);
  }
  if (hasTags(scope)) add(IS_TAGGED);
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
