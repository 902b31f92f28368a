import { NANO_PER_USD, type NanoUsd, toUsd } from "../kernel/money.ts";
import type { CostRow, CostTotal } from "../contract/costs.ts";
import { dimension, DIMENSIONS, FILTERED, GROUPED } from "../contract/costs/dimensions.ts";
import { type TagGroup, tagKeyOf } from "../contract/tags/tags.ts";
import { DAY_SPANS } from "../contract/windows.ts";
import type { Grouping } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import {
  indexedBy,
  isAfter,
  NOT_INDEXED,
  ORDERED_JOIN,
  type SqlValue,
  type Statement,
  type Store,
  toObjects,
} from "../store/mod.ts";
import { conditionsOf, dearestFirst, hasTags, MAX_TIME } from "./cost_conditions.ts";
import {
  type CostFilter,
  type CostScope,
  type DimensionValues,
  isDaySpan,
  isEntity,
  isTimed,
  sortOf,
  type TimeSpan,
} from "./cost_filter.ts";
import { type Key, type KeyColumn, piecesOf, withoutLater } from "./cost_pieces.ts";
import { costUsd, planUsd } from "./token_usage.ts";
import {
  COUNTER_COLUMNS,
  COUNTER_SUMS,
  COUNTERS,
  ENTRY_COUNTERS,
  textAt,
  TOTALS_POSITION,
} from "./usage_sql.ts";

type ReadContext = Pick<Store, "readLong">;
type Row = Record<string, SqlValue>;

/**
 * Sums spend by group. Calls without a price count as zero and are counted separately. Groups that are sorted by time have
 * the latest first, the others the most expensive.
 *
 * Sums are read from rollups and the calls after them: whole days, then whole hours, then the calls of the partial hours at
 * both ends.
 */
export async function listCosts(store: ReadContext, filter: CostFilter): Promise<CostRow[]> {
  const { groupBy } = filter;
  const statement = isEntity(groupBy) ? entityStatement(groupBy, filter) : groupStatement(filter);
  const rows = toObjects<Row>(await store.readLong(statement));
  return rows.map((row) => ({ ...keyOf(row, filter), ...sumsOf(row), ...comparisonOf(filter, row) }));
}

/** Sums the spend of all calls of a scope. */
export async function readCostTotal(store: ReadContext, scope: CostScope): Promise<CostTotal> {
  const args: SqlValue[] = [];
  const sql = `SELECT ${sumsSql(scope)} FROM (${rowsOf(scope, { columns: [] }, args)}) entries`;
  const [row] = toObjects<Row>(await store.readLong({ sql, args }));
  return { ...spanOf(scope), ...sumsOf(row!), ...comparisonOf(scope, row!) };
}

/** The calls of a run, of a session, or of a short span: those that an index finds. */
export type IndexedCalls =
  & Omit<DimensionValues, "sessionId">
  & Pick<CostFilter, "from" | "to" | "upTo">
  & ({ sessionId: string; runId?: string | null } | { runId: string } | { from: number; to: number });

/** Sums calls that an index finds by agent, model or session, the most expensive first. */
export async function listTopCosts(
  store: ReadContext,
  { groupBy, limit, ...calls }: IndexedCalls & { groupBy: "agent" | "model" | "session"; limit: number },
): Promise<CostRow[]> {
  const args: SqlValue[] = [];
  const where: string[] = [];
  const add = (condition: string, ...values: SqlValue[]) => {
    where.push(condition);
    args.push(...values);
  };
  if ("sessionId" in calls) {
    add("session_id = ?", calls.sessionId);
    if (calls.runId != null) add("run_id = ?", calls.runId);
  } else if ("runId" in calls) add("session_id IS NULL AND run_id = ?", calls.runId);
  if (calls.from !== undefined) add("at >= ?", calls.from);
  if (calls.to !== undefined) add("at < ?", calls.to);
  if (calls.upTo !== undefined) add("position <= ?", calls.upTo);
  const index = "sessionId" in calls
    ? "calls_by_session"
    : "runId" in calls
    ? "calls_by_run"
    : "calls_by_time";
  where.push(...conditionsOf({ ...calls, sessionId: undefined }, args));
  const keys = groupsOf(groupBy);
  if (groupBy === "session") where.push("session_id IS NOT NULL");
  const sums = groupBy === "session" ? selectEntity("session_id") : `SELECT ${keys}, ${COUNTER_SUMS}`;
  const sql = `SELECT * FROM (${sums} FROM (
  SELECT session_id, agent_id, provider, model, at AS first_at, at AS last_at, position, ${ENTRY_COUNTERS}
  FROM calls ${indexedBy(index)} WHERE ${where.join(" AND ")}
) entries GROUP BY ${keys} ${HAS_CALLS}) sums ORDER BY ${DEAREST_FIRST}, ${keys} LIMIT ?`;
  const rows = toObjects<Row>(await store.readLong({ sql, args: [...args, limit] }));
  return rows.map((row) => ({ ...keyOf(row, { groupBy, limit, offset: 0 }), ...sumsOf(row) }));
}

/** Returns the time of the first one of the newest calls of a span; its start if it has no more of them. */
export async function readStartOfNewest(
  store: ReadContext,
  { from, to, upTo, calls }: { from: number; to: number; upTo?: number; calls: number },
): Promise<number> {
  const { rows } = await store.readLong({
    sql: `SELECT at FROM calls ${indexedBy("calls_by_time")} WHERE at >= ? AND at < ?${
      upTo === undefined ? "" : " AND position <= ?"
    } ORDER BY at DESC LIMIT 1 OFFSET ?`,
    args: [from, to, ...upTo === undefined ? [] : [upTo], calls - 1],
  });
  return rows.length === 0 ? from : Number(rows[0]![0]);
}

const spanOf = ({ from, to }: TimeSpan) => ({
  from: from === undefined ? null : toIso(from),
  to: to === undefined ? null : toIso(to),
});

/** Returns the columns of the groups of a dimension, of a tag, or by hour or day. */
function groupsOf(group: Grouping | TagGroup): readonly (KeyColumn | EntityColumn)[] {
  if (isTag(group)) return ["tag_value"];
  if (group === "source" || group === "hour" || isDaySpan(group)) return [group];
  return group === "model" ? DIMENSIONS.model.groups : [DIMENSIONS[group].field];
}

const isTag = (group: string | undefined): group is TagGroup =>
  group !== undefined && tagKeyOf(group) !== undefined;

/** Returns the tag of the groups of a report, if they are by one. */
function tagOf({ groupBy, splitBy }: CostFilter): TagGroup | undefined {
  return [groupBy, splitBy].find(isTag);
}

/** The columns that sessions and runs have, and no group of another kind. */
type EntityColumn = "session_id" | "run_id" | "first_at" | "last_at";

/** Returns the columns that identify the groups of a report. */
export function keyColumnsOf({ groupBy, splitBy }: CostFilter): (KeyColumn | EntityColumn)[] {
  if (isEntity(groupBy)) return [...groupsOf(groupBy), "agent_id", "model", "first_at", "last_at"];
  return [...new Set([...groupsOf(groupBy), ...splitBy ? groupsOf(splitBy) : []])];
}

/** Sums agents, models, providers, hours and days, and a second level of groups within them, from rollups. */
function groupStatement(filter: CostFilter): Statement {
  const { groupBy, splitBy, compare, limit, offset } = filter;
  const group = groupsOf(groupBy);
  const key = keyColumnsOf(filter) as KeyColumn[];
  const split = key.slice(group.length);
  const isByTime = sortOf(filter) === "time";
  const latest = group.map((column) => `${column} DESC`);
  const args: SqlValue[] = [];
  // Latest first, a piece contributes at most the groups of the page, so each can stop early.
  const take = !isByTime || splitBy || compare ? undefined : (rows: string) => {
    args.push(limit + offset);
    return `SELECT * FROM (SELECT ${key}, ${COUNTER_SUMS} FROM (${rows}) entries GROUP BY ${key} ORDER BY ${latest} LIMIT ?) newest`;
  };
  const { days } = filter;
  const rows = rowsOf(filter, { columns: key, tag: tagOf(filter), days }, args, take);
  const later = filter.upTo === undefined
    ? ""
    : ` UNION ALL ${withoutLater(filter, filter.upTo, { columns: key, days }, args)}`;
  const groups = `SELECT ${key}, ${
    sumsSql(filter)
  } FROM (${rows}${later}) entries GROUP BY ${key} ${HAS_CALLS}`;
  const order = [
    ...isByTime ? latest : [
      splitBy ? dearestFirst("group_whole", "group_rest") : DEAREST_FIRST,
      ...isTimed(groupBy) ? latest : group.map(ascending),
    ],
    ...splitBy ? [DEAREST_FIRST, ...split.map(ascending)] : [],
  ];
  const inGroup = (column: string) => `sum(${column}) OVER (PARTITION BY ${group})`;
  const sums = splitBy && !isByTime
    ? `, ${inGroup("whole_usd")} AS group_whole, ${inGroup("rest_nano_usd")} AS group_rest`
    : "";
  return {
    sql: `SELECT * FROM (SELECT *${sums} FROM (${groups}) grouped) sums ORDER BY ${
      order.join(", ")
    } LIMIT ? OFFSET ?`,
    args: [...args, limit, offset],
  };
}

/** Groups without the tag come before those with it. */
const ascending = (column: string) => column === "tag_value" ? `${column} NULLS FIRST` : column;

/** SQL for the groups that have a call: none of those whose calls were all taken back for others. */
const HAS_CALLS = "HAVING sum(model_calls) <> 0";

/** SQL for an order by cost, and then by what plans pay for. */
const DEAREST_FIRST = ["", "plan_"].map((of) => dearestFirst(`${of}whole_usd`, `${of}rest_nano_usd`)).join(
  ", ",
);

/** SQL for the rows of a scope; of one with a second span, those of both with their `period`, 0 or 1. */
function rowsOf(
  scope: CostScope,
  key: Key,
  args: SqlValue[],
  take?: (rows: string) => string,
): string {
  if (!scope.compare) return piecesOf(scope, key, args, take).join(" UNION ALL ");
  const period = (span: TimeSpan, number: number) =>
    piecesOf({ ...scope, from: span.from, to: span.to }, key, args).map((rows) =>
      `SELECT *, ${number} AS period FROM (${rows}) entries`
    );
  return [...period(scope, 0), ...period(scope.compare, 1)].join(" UNION ALL ");
}

function sumsSql({ compare }: CostScope): string {
  if (!compare) return COUNTER_SUMS;
  const sums = (number: number, prefix: string) =>
    COUNTER_COLUMNS.map((name) =>
      `sum(CASE period WHEN ${number} THEN ${name} ELSE 0 END) AS ${prefix}${name}`
    );
  return [...sums(0, ""), ...sums(1, PREVIOUS)].join(", ");
}

const PREVIOUS = "previous_";

const isoOf = (value: SqlValue | undefined) => toIso(Number(value));
const nullIfEmpty = (value: SqlValue | undefined) => value === "" ? null : value;

/** The columns whose values differ on the wire. Rollups have no null in their keys. */
const TO_WIRE: Readonly<Record<string, (value: SqlValue | undefined) => unknown>> = {
  first_at: isoOf,
  last_at: isoOf,
  hour: isoOf,
  ...Object.fromEntries(
    DAY_SPANS.map((span) => [span, (value: SqlValue | undefined) => isoOf(value).slice(0, 10)]),
  ),
  source: nullIfEmpty,
  ...Object.fromEntries(
    GROUPED.filter((name) => dimension(name).isOptional).map((name) => [dimension(name).field, nullIfEmpty]),
  ),
};

function keyOf(row: Row, filter: CostFilter): Partial<CostRow> {
  const tag = tagOf(filter);
  const columns = keyColumnsOf(filter).map((
    name,
  ) => [name, (TO_WIRE[name] ?? ((value) => value))(row[name])]);
  return { ...(tag !== undefined && { tag_key: tagKeyOf(tag)! }), ...Object.fromEntries(columns) };
}

function sumsOf(row: Row, prefix = "") {
  const number = (name: string) => Number(row[prefix + name] ?? 0);
  return {
    model_calls: number("model_calls"),
    unpriced_calls: number("unpriced_calls"),
    partly_priced_calls: number("partly_priced_calls"),
    estimated_calls: number("estimated_calls"),
    lower_bound_calls: number("lower_bound_calls"),
    input_tokens: number("input_tokens"),
    output_tokens: number("output_tokens"),
    cache_read_tokens: number("cache_read_tokens"),
    cache_write_tokens: number("cache_write_tokens"),
    reasoning_tokens: number("reasoning_tokens"),
    total_tokens: number("total_tokens"),
    cost_usd: costUsd({
      modelCalls: number("model_calls"),
      unpricedCalls: number("unpriced_calls"),
      costNanoUsd: nanoOf(row, prefix),
    }),
    ...planUsd(nanoOf(row, `${prefix}plan_`)),
  };
}

function nanoOf(row: Row, prefix = ""): NanoUsd {
  const part = (name: string) => BigInt(row[prefix + name] as bigint | null ?? 0n);
  return part("whole_usd") * NANO_PER_USD + part("rest_nano_usd");
}

/** Returns the sums of the second span, and the difference to them. */
function comparisonOf({ compare }: CostScope, row: Row): Pick<CostRow, "previous" | "difference_usd"> {
  if (!compare) return {};
  const previous = sumsOf(row, PREVIOUS);
  const isUnknown = sumsOf(row).cost_usd === null || previous.cost_usd === null;
  return { previous, difference_usd: isUnknown ? null : toUsd(nanoOf(row) - nanoOf(row, PREVIOUS)) };
}

/**
 * Returns the query that sums sessions or runs. The agent is that of the first call, the model that of the newest. Sums are
 * those of the rollup where no filter but a span may cut a session or run, else those of the calls.
 */
function entityStatement(kind: "session" | "run", filter: CostFilter): Statement {
  const isWhole = FILTERED.every((name) => filter[DIMENSIONS[name].property] === undefined);
  return isWhole && !hasTags(filter) ? ofRollup(kind, filter) : ofCalls(kind, filter);
}

/** SQL for the sums of sessions or runs over their calls, with the agent of the first and the model of the newest. */
const selectEntity = (key: string) =>
  `SELECT ${key}, ${textAt("min", "first_at", "agent_id")} AS agent_id, ${
    textAt("max", "last_at", "model")
  } AS model, ${COUNTER_SUMS}, min(first_at) AS first_at, max(last_at) AS last_at`;

const orderOf = (key: string, filter: CostFilter) =>
  `${sortOf(filter) === "cost" ? `${DEAREST_FIRST}, ` : ""}first_at DESC, ${key} DESC`;

function ofCalls(kind: "session" | "run", filter: CostFilter): Statement {
  const key = `${kind}_id`;
  const args: SqlValue[] = [];
  const where = [`${key} IS NOT NULL`, ...conditionsOf(filter, args), "at >= ? AND at < ?"].join(" AND ");
  args.push(filter.from ?? 0, filter.to ?? MAX_TIME, filter.limit, filter.offset);
  return {
    sql: `SELECT * FROM (${selectEntity(key)}
FROM (SELECT ${key}, agent_id, model, at AS first_at, at AS last_at, position, ${ENTRY_COUNTERS} FROM calls WHERE ${where}) entries
GROUP BY ${key} ${HAS_CALLS}) sums ORDER BY ${orderOf(key, filter)} LIMIT ? OFFSET ?`,
    args,
  };
}

/**
 * Sums of the rollup for what lies within the span as a whole, of the calls for the few sessions or runs that its start or
 * end cuts, and of the calls after the rollup. Arguments: 1 limit, 2 offset, 3 `from`, 4 `to`.
 */
function ofRollup(kind: "session" | "run", filter: CostFilter): Statement {
  const key = `${kind}_id`;
  const { from, to, limit, offset } = filter;
  const isWhole = from === undefined && to === undefined;
  const tail = `calls ${NOT_INDEXED} WHERE ${isAfter(TOTALS_POSITION)} AND ${key} IS NOT NULL`;
  // By cost and for the cut every row is read: a unary plus keeps the index by time out, which would be slower.
  const first = sortOf(filter) === "cost" ? "+first_at" : "first_at";
  const inside = isWhole ? "true" : `${first} >= ?3 AND last_at < ?4`;
  const cut =
    `cut(id, first_at, last_at) AS MATERIALIZED (SELECT ${key}, first_at, last_at FROM usage_${kind}s
  WHERE (+first_at < ?3 AND last_at >= ?3) OR (+first_at < ?4 AND last_at >= ?4)),`;
  const entry = `${key}, agent_id, model, at, at, position, ${ENTRY_COUNTERS}`;
  // A call of the tail may change the order of the rolled-up calls of its session: each can displace one row of a page.
  return {
    sql: `WITH moved(id) AS MATERIALIZED (SELECT DISTINCT ${key} FROM ${tail}),
${isWhole ? "" : cut}
page(id) AS MATERIALIZED (
  SELECT id FROM moved
  UNION SELECT ${key} FROM (SELECT ${key} FROM usage_${kind}s WHERE ${inside} AND model_calls <> 0
    ORDER BY ${orderOf(key, filter)}
    LIMIT ?1 + ?2 + (SELECT count(*) FROM moved)) newest
)
SELECT * FROM (${selectEntity(key)}
FROM (
  SELECT ${key}, agent_id, model, first_at, last_at, 0 AS position, ${COUNTERS}
    FROM page ${ORDERED_JOIN} usage_${kind}s ON ${key} = id WHERE ${inside}
  ${isWhole ? "" : `UNION ALL ${cutCalls(kind, entry)}`}
  UNION ALL SELECT ${entry} FROM ${tail}${isWhole ? "" : " AND +at >= ?3 AND +at < ?4"}
) entries GROUP BY ${key} ${HAS_CALLS}) sums ORDER BY ${orderOf(key, filter)} LIMIT ?1 OFFSET ?2`,
    args: [limit, offset, ...isWhole ? [] : [from ?? 0, to ?? MAX_TIME]],
  };
}

/**
 * SQL for the rolled-up calls within the span of the sessions or runs that it cuts: of sessions by their index, of runs by
 * time, from the start to the last call of those cut there, and from the first call of those cut at the end to the end.
 */
function cutCalls(kind: "session" | "run", entry: string): string {
  const rolledUp = `position <= ${TOTALS_POSITION}`;
  if (kind === "session") {
    return `SELECT ${entry} FROM (SELECT c.* FROM cut ${ORDERED_JOIN} calls c ${
      indexedBy("calls_by_session")
    } ON c.session_id = cut.id AND c.at >= ?3 AND c.at < ?4 WHERE ${rolledUp}) rolled_up`;
  }
  const lastCut = "(SELECT coalesce(max(last_at), ?3 - 1) FROM cut WHERE first_at < ?3)";
  const firstCut = "(SELECT coalesce(min(first_at), ?4) FROM cut WHERE last_at >= ?4)";
  const between = (start: string, end: string) =>
    `SELECT ${entry} FROM calls ${indexedBy("calls_by_time")} WHERE at >= ${start} AND at <= ${end}
    AND run_id IN (SELECT id FROM cut) AND ${rolledUp}`;
  return `${between("?3", `min(?4 - 1, ${lastCut})`)}
  UNION ALL ${between(`max(max(?3, ${lastCut} + 1), ${firstCut})`, "?4 - 1")}`;
}
