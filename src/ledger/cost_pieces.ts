import {
  type Dimension,
  dimension,
  DIMENSIONS,
  type FieldOf,
  FILTERED,
  GROUPED,
} from "../contract/costs/dimensions.ts";
import { UTC } from "../contract/calendars/zones.ts";
import {
  areOfWholeHours,
  DAY_SPANS,
  type DaySpan,
  localSpanSql,
  type ReportDays,
  reportDays,
  startOf,
  startSql,
} from "../contract/windows.ts";
import { HOUR_MS } from "../kernel/clock.ts";
import { indexedBy, isAfter, NOT_INDEXED, ORDERED_JOIN, type SqlValue } from "../store/mod.ts";
import type { TagGroup } from "../contract/tags/tags.ts";
import { conditionsOf, hasTags, MAX_TIME, tagValue } from "./cost_conditions.ts";
import type { CostScope } from "./cost_filter.ts";
import { COUNTER_COLUMNS, COUNTER_SUMS, COUNTERS, ENTRY_COUNTERS, TOTALS_POSITION } from "./usage_sql.ts";

/** A column that groups calls. */
export type KeyColumn =
  | FieldOf<Exclude<Dimension, "session" | "run">>
  | "source"
  | "hour"
  | DaySpan
  | "tag_value";

/** The columns of rollups that are never null, where those of a call may be. */
const OPTIONAL = Object.fromEntries(
  ["source", ...GROUPED.filter((name) => dimension(name).isOptional).map((name) => dimension(name).field)]
    .map((field) => [field, `coalesce(${field}, '')`]),
);

interface Source {
  table: string;
  time: string;
  counters: string;
  where?: string;
  /** SQL for the columns that it has under another name. */
  columns: { readonly [Name in KeyColumn]?: string };
  /** True if its rows have the tags of the calls. */
  hasTags?: true;
}

const TOTALS: Source = { table: "usage_totals", time: "", counters: COUNTERS, columns: {} };
const DAYS: Source = { table: "usage_days", time: "day", counters: COUNTERS, columns: {} };
const HOURS: Source = {
  table: "usage_hours",
  time: "hour",
  counters: COUNTERS,
  columns: { day: startSql("day", "hour") },
};
const SOURCES: Source = { table: "usage_sources", time: "", counters: COUNTERS, columns: {} };
const CALLS: Source = {
  table: "calls",
  time: "at",
  counters: ENTRY_COUNTERS,
  columns: { ...OPTIONAL, hour: startSql("hour", "at"), day: startSql("day", "at") },
};
/** The calls after the rollups: they are few, so a unary plus keeps the index by time out. */
const TAIL: Source = {
  ...CALLS,
  table: `calls ${NOT_INDEXED}`,
  where: isAfter(TOTALS_POSITION),
  time: "+at",
};

/** The calls with tags of their own, read by an index of their own. */
const TAGGED: Source = {
  ...CALLS,
  table: `calls ${indexedBy("calls_by_tags")}`,
  where: "calls.tags IS NOT NULL",
  hasTags: true,
};

/** The other calls to which witnesses have added tags, and their corrections. */
const TAGGED_SINCE: readonly Source[] = ["call_id", "adjusts"].map((column) => ({
  ...CALLS,
  table: `call_tags added ${ORDERED_JOIN} calls ON calls.${column} = added.call_id`,
  where: "calls.tags IS NULL",
  hasTags: true,
}));

const ALL_TAGGED = [TAGGED, ...TAGGED_SINCE];

/** The calls of a session, by their index. */
const OF_SESSION: Source = { ...CALLS, table: `calls ${indexedBy("calls_by_session")}`, hasTags: true };

const UTC_DAYS = reportDays(UTC, 0, 0);

interface Piece {
  source: Source;
  from?: number;
  to?: number;
}

/** The key of the groups; with `tag_value`, the tag that it is of. */
export interface Key {
  columns: readonly KeyColumn[];
  tag?: TagGroup;
  /** The days of which days, weeks and months are made; without them, those of UTC. */
  days?: ReportDays | undefined;
}

/**
 * Returns SQL for the rows of a scope, one query each for the parts of its span: whole days and hours from their rollups, the
 * calls of the partial hours at both ends, and the calls after the rollups. Each row has the columns of the key and the
 * counters; `take` wraps a query.
 *
 * Rollups have neither sessions nor tags. The calls of one session are read by themselves. By a tag, its calls are added with the value and subtracted without one, so that the sum of all
 * groups is the total; with a condition on tags, all is read from the calls that have some.
 */
export function piecesOf(
  scope: CostScope,
  key: Key,
  args: SqlValue[],
  take: (rows: string) => string = (rows) => rows,
): string[] {
  const calls = scope.sessionId !== undefined ? [OF_SESSION] : hasTags(scope) ? ALL_TAGGED : undefined;
  if (calls) return calls.map((source) => take(rowsOf(scope, { source, ...spanOf(scope) }, key, args)));
  const parts = key.columns.includes("source") ? bySource(scope, key) : cut(scope, key);
  const pieces = parts.map((piece) => take(rowsOf(scope, piece, key, args)));
  return key.tag === undefined ? pieces : [...pieces, taggedRows(scope, key, args)];
}

/** Only one rollup has sources: it has agents, and no times. */
function bySource(scope: CostScope, { columns }: Key): Piece[] {
  const isOfRollup = scope.from === undefined && scope.to === undefined &&
    columns.every((name) => name === "source" || name === "agent_id") &&
    FILTERED.every((name) => name === "agent" || scope[DIMENSIONS[name].property] === undefined);
  return isOfRollup ? [{ source: SOURCES }, { source: TAIL }] : [{ source: CALLS, ...spanOf(scope) }];
}

function rowsOf(scope: CostScope, { source, from, to }: Piece, key: Key, args: SqlValue[]): string {
  const where = [...source.where ? [source.where] : [], ...conditionsOf(scope, args)];
  if (from !== undefined) {
    where.push(`${source.time} >= ? AND ${source.time} < ?`);
    args.push(from, to!);
  }
  const tag = source.hasTags && key.tag ? tagValue(key.tag) : "NULL";
  const { days = UTC_DAYS } = key;
  const time = source.time.replace("+", "");
  const spans = DAY_SPANS.filter((span) => key.columns.includes(span) && time !== "")
    .map((span) => [span, localSpanSql(span, time, days)]);
  const expressions: Partial<Record<KeyColumn, string>> = {
    ...source.columns,
    ...Object.fromEntries(spans),
    tag_value: tag,
  };
  const columns = key.columns.map((name) =>
    expressions[name] === undefined ? name : `${expressions[name]} AS ${name}`
  );
  return `SELECT ${[...columns, source.counters].join(", ")} FROM ${source.table}` +
    (where.length === 0 ? "" : ` WHERE ${where.join(" AND ")}`);
}

/** SQL for the calls that have the tag of a key: once with its value, and once subtracted without. */
function taggedRows(scope: CostScope, key: Key, args: SqlValue[]): string {
  // Each source is grouped by itself: their rows together would be copied once more, a tenth of the time.
  const tagged = ALL_TAGGED.map((source) =>
    `SELECT ${key.columns}, ${COUNTER_SUMS} FROM (${
      rowsOf(scope, { source, ...spanOf(scope) }, key, args)
    }) entries GROUP BY ${key.columns}`
  ).join(" UNION ALL ");
  const others = key.columns.map((name) => name === "tag_value" ? "NULL" : name);
  // The condition comes after the groups: before them, SQLite would read the tag of each call twice.
  const ofTag = "FROM tagged WHERE tag_value IS NOT NULL";
  return `SELECT * FROM (WITH tagged AS MATERIALIZED (${tagged})
SELECT * ${ofTag} UNION ALL SELECT ${others}, ${COUNTER_COLUMNS.map((name) => `-${name}`)} ${ofTag}) parts`;
}

/** SQL that subtracts the entries of a scope after a position: rollups hold those of late reports and adjustments too. */
export function withoutLater(
  scope: CostScope,
  upTo: number,
  key: Key,
  args: SqlValue[],
): string {
  const later = { ...CALLS, table: `calls ${indexedBy("calls_by_time")}`, where: "position > ?" };
  args.push(upTo);
  const span = { from: scope.from ?? 0, to: scope.to ?? MAX_TIME };
  return `SELECT ${key.columns}, ${COUNTER_COLUMNS.map((name) => `-${name}`)} FROM (${
    rowsOf(scope, { source: later, ...span }, { columns: key.columns, days: key.days }, args)
  }) later`;
}

const spanOf = ({ from, to }: CostScope) =>
  from === undefined && to === undefined ? {} : { from: from ?? 0, to: to ?? MAX_TIME };

/** Cuts a span into pieces, each with the coarsest rollup that fits exactly, and the calls after the rollups. */
function cut(scope: CostScope, key: Key): Piece[] {
  const { days = UTC_DAYS } = key;
  const isByDay = key.columns.some((name) => DAY_SPANS.some((span) => span === name));
  const isZoned = isByDay && days.calendar.timeZone !== UTC.timeZone;
  const isByHour = key.columns.includes("hour") || isZoned;
  const hours = isZoned && !areOfWholeHours(days) ? hoursOf(days) : [HOURS];
  if (scope.from === undefined && scope.to === undefined) {
    const sources = isByHour ? hours : [isByDay ? DAYS : TOTALS];
    return [...sources, TAIL].map((source) => ({ source }));
  }
  const from = Math.max(scope.from ?? 0, 0);
  const to = Math.max(Math.min(scope.to ?? MAX_TIME, MAX_TIME), from);
  const pieces: Piece[] = [];
  const add = (source: Source, start: number, end: number) => {
    if (start < end) pieces.push({ source, from: start, to: end });
  };
  const [hourStart, hourEnd] = whole("hour", from, to);
  if (hourStart >= hourEnd) {
    add(CALLS, from, to);
  } else {
    add(CALLS, from, hourStart);
    const [dayStart, dayEnd] = whole("day", hourStart, hourEnd);
    if (dayStart >= dayEnd || isByHour) {
      for (const source of hours) add(source, hourStart, hourEnd);
    } else {
      add(HOURS, hourStart, dayStart);
      add(DAYS, dayStart, dayEnd);
      add(HOURS, dayEnd, hourEnd);
    }
    add(TAIL, hourStart, hourEnd);
    add(CALLS, hourEnd, to);
  }
  if (pieces.length === 0) pieces.push({ source: isByHour ? HOURS : DAYS, from: 0, to: 0 });
  return pieces;
}

/**
 * Returns the sources of rolled-up hours where a day begins within some of them, as in India: the calls of those are read one by one.
 */
function hoursOf(days: ReportDays): Source[] {
  const hasMidnight = (hour: string) =>
    `${localSpanSql("day", hour, days)} <> ${localSpanSql("day", `(${hour} + ${HOUR_MS - 1})`, days)}`;
  const ofCall = startSql("hour", "at");
  return [
    { ...HOURS, where: `NOT (${hasMidnight("hour")})` },
    {
      ...CALLS,
      table: `calls ${indexedBy("calls_by_time")}`,
      where: `position <= ${TOTALS_POSITION} AND ${hasMidnight(ofCall)}`,
    },
  ];
}

/** Returns the largest part of a range that starts and ends with an hour or a day. */
function whole(span: "hour" | "day", from: number, to: number): [number, number] {
  return [startOf(span, from - 1, 1), startOf(span, to)];
}
