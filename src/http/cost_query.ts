import type { Context } from "hono";
import { filterFields } from "../contract/costs/dimension_fields.ts";
import {
  DIMENSIONS,
  FILTERED,
  NAMED,
  type NameFields,
  type WithFields,
  withNameField,
} from "../contract/costs/dimensions.ts";
import { TAG_LIMITS, tagIssues, tagKeyOf, type Tags } from "../contract/tags/tags.ts";
import { invalidField, PurserError } from "../kernel/errors.ts";
import { shorten } from "../kernel/text.ts";
import { findKey, withNames } from "../keys/mod.ts";
import { type CostFilter, type CostScope, isEntity, isTimed } from "../ledger/mod.ts";
import type { Core } from "../service/mod.ts";
import { z } from "./create_route.ts";
import { wholeNumber } from "./pagination.ts";
import { TimeZone } from "../contract/calendars/calendar_fields.ts";
import { MAX_MONTH_START_DAY, startOfLocalDay, WEEK_DAYS } from "../contract/calendars/zones.ts";
import { narrowToAgent, onlyAgentOf, outOfReach, viewerOfRequest } from "./middleware/agent_reach.ts";
import type { ApiEnv } from "./middleware/principal.ts";

/** The parameters of cost reports that select calls. */
export const scopeQuery = {
  ...filterFields,
  tag: z.union([z.string(), z.array(z.string()).max(TAG_LIMITS.tags)]).optional().openapi({
    type: "array",
    items: { type: "string" },
    description: "Only calls with this tag, as `key:value`; if repeated, only calls with all of them",
    example: ["customer:acme"],
  }),
};

/** A time of a report: a date is a midnight of its time zone. */
const ReportTime = z.union([z.iso.datetime({ offset: true }), z.iso.date()]).transform((text) => ({
  at: Date.parse(text),
  isDate: text.length === "2026-11-21".length,
})).openapi({ type: "string", example: "2026-11-21" });
type ReportTime = z.infer<typeof ReportTime>;

/** The span of a cost report. */
export const spanQuery = {
  from: ReportTime.optional().openapi({ description: "Inclusive; a date, or a time with its zone" }),
  to: ReportTime.optional().openapi({ description: "Exclusive; a date, or a time with its zone" }),
  time_zone: TimeZone.optional().openapi({
    type: "string",
    description:
      "Time zone of dates, days, weeks and months; the server's, UTC unless set, if not given. Hours are those of UTC",
    example: "Europe/Berlin",
  }),
};

/** The second span of a cost report. */
export const compareQuery = {
  compare_from: ReportTime.optional().openapi({
    description:
      "Adds `previous` to each row, the sums of a second span, and the difference to it; inclusive",
  }),
  compare_to: ReportTime.optional().openapi({
    description: "End of the second span, exclusive; default: `from`",
  }),
};

/** The parameters of a report of a month. */
export const monthQuery = {
  time_zone: spanQuery.time_zone,
  month_start_day: wholeNumber({ min: 1, max: MAX_MONTH_START_DAY }).optional().openapi({
    type: "integer",
    format: "int32",
    minimum: 1,
    maximum: MAX_MONTH_START_DAY,
    description: "First day of a month: 15 for months from the 15th; the server's if not given",
  }),
};

/** The parameters of a report by days, weeks or months. */
export const calendarQuery = {
  ...monthQuery,
  week_start: z.enum(WEEK_DAYS).optional().openapi({
    description: "First day of a week; the server's if not given",
  }),
};

interface ScopeQuery extends z.infer<z.ZodObject<typeof filterFields>> {
  tag?: string | string[];
  from?: ReportTime;
  to?: ReportTime;
  compare_from?: ReportTime;
  compare_to?: ReportTime;
  time_zone?: string;
}

/** Returns the calls that a request selects, if its key may read them. Throws `invalid` or `forbidden`. */
export async function scopeOf(
  c: Pick<Context<ApiEnv>, "env">,
  core: Pick<Core, "store" | "clock" | "timeZone">,
  query: ScopeQuery,
): Promise<CostScope> {
  const { time_zone: timeZone = core.timeZone } = query;
  const timeOf = (time: ReportTime | undefined) =>
    time?.isDate ? startOfLocalDay(timeZone, time.at) : time?.at;
  const [from, to, compare_from] = [query.from, query.to, query.compare_from].map(timeOf);
  const compare_to = timeOf(query.compare_to) ?? from;
  checkOrder({ from, to }, ["from", "to"]);
  if (compare_from === undefined) {
    if (query.compare_to !== undefined) throw invalid("compare_to", "it needs compare_from");
  } else if (compare_to === undefined) {
    throw invalid("compare_from", "it needs compare_to, or from");
  } else checkOrder({ from: compare_from, to: compare_to }, ["compare_from", "compare_to"]);
  return {
    from,
    to,
    ...Object.fromEntries(FILTERED.map((name) => [DIMENSIONS[name].property, query[DIMENSIONS[name].field]])),
    ...(query.key_id !== undefined &&
      { keyId: (await findKey(core, query.key_id, viewerOfRequest(c))).keyId }),
    tags: query.tag === undefined ? undefined : readTagFilters([query.tag].flat()),
    agentId: narrowToAgent(c, query.agent_id),
    ...(compare_from !== undefined && { compare: { from: compare_from, to: compare_to } }),
  };
}

/** Adds the names of the groups of a report, if its reader may know them; null for the group of no value. */
export async function withGroupNames<Row extends WithFields>(
  c: Pick<Context<ApiEnv>, "env">,
  core: Pick<Core, "store">,
  rows: readonly Row[],
): Promise<(Row & NameFields)[]> {
  const withField = ([field, value]: [string, unknown]) =>
    withNameField(field).map((name) => [name, name === field ? value : null]);
  const fields = rows.map((row) => Object.fromEntries(Object.entries(row).flatMap(withField)) as Row);
  return await withNames(core, fields, viewerOfRequest(c));
}

/** Parses tags from `key:value`. */
export function readTagFilters(texts: readonly string[]): Tags {
  const tags = texts.map((text): [string, string] => {
    const split = text.indexOf(":");
    if (split < 1) throw invalid("tag", `${JSON.stringify(shorten(text, 60))} is not of the form key:value`);
    return [text.slice(0, split), text.slice(split + 1)];
  });
  const repeated = tags.find(([key], index) => tags.findIndex((other) => other[0] === key) !== index);
  if (repeated) throw invalid("tag", `a call has one value of ${repeated[0]} only`);
  const all = Object.fromEntries(tags);
  const [issue] = tagIssues(all);
  if (issue) throw invalid("tag", issue.message);
  return all;
}

function checkOrder({ from, to }: { from?: number; to?: number }, [start, end]: [string, string]): void {
  if (from !== undefined && to !== undefined && from > to) {
    throw invalid(start, `it is later than ${end}`);
  }
}

/** Refuses groups that can't be listed as requested. */
export function checkGroups(c: Pick<Context<ApiEnv>, "env">, filter: CostFilter): void {
  const { groupBy, splitBy, sort, compare } = filter;
  const only = onlyAgentOf(c);
  const named = only === undefined ? undefined : NAMED.find((kind) => groupBy === kind || splitBy === kind);
  if (named !== undefined) throw outOfReach(`the costs of other ${named}s`, only!);
  if (splitBy !== undefined && tagKeyOf(groupBy) !== undefined && tagKeyOf(splitBy) !== undefined) {
    throw invalid("split_by", "a report has one tag; filter by the other");
  }
  if (splitBy !== undefined && isEntity(groupBy)) {
    throw invalid(
      "split_by",
      `a ${groupBy} can't be split; split agents, models, providers, hours, days or a tag, or read the calls of one ` +
        "session at /sessions/{session_id}/costs",
    );
  }
  if (splitBy !== undefined && (splitBy === groupBy || (groupBy === "model" && splitBy === "provider"))) {
    throw invalid("split_by", `a group by ${groupBy} has one ${splitBy}`);
  }
  if (compare && isTimed(groupBy)) {
    throw invalid(
      "compare_from",
      `groups by ${groupBy} can't be compared, since each has a time of its own; group by agent, model, provider or a ` +
        "tag, or read the total",
    );
  }
  if (sort === "time" && !isTimed(groupBy)) throw invalid("sort", `groups by ${groupBy} have no time`);
}

function invalid(path: string, problem: string): PurserError {
  return invalidField(path, problem, `Cannot sum the costs: ${path}: ${problem}`);
}
