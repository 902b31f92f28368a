import { NANO_PER_USD, type NanoUsd, toUsd } from "../kernel/money.ts";
import type { CostRow, CostTotal } from "../contract/costs.ts";
import { type TagGroup, tagKeyOf } from "../contract/tags/tags.ts";
import type { Grouping } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { type SqlValue, type Statement, type Store, toObjects } from "../store/mod.ts";
import { conditionsOf, dearestFirst } from "./cost_conditions.ts";
import { type CostFilter, type CostScope, isTimed, sortOf, type TimeSpan } from "./cost_filter.ts";
import { type Key, type KeyColumn, piecesOf } from "./cost_pieces.ts";
import { entityStatement, selectEntity } from "./entity_costs.ts";
import { costUsd } from "./token_usage.ts";
import { COUNTER_COLUMNS, COUNTER_SUMS, ENTRY_COUNTERS } from "./usage_sql.ts";

type ReadContext = Pick<Store, "read">;
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
  const statement = groupBy === "session" || groupBy === "run"
    ? entityStatement(groupBy, filter)
    : groupStatement(filter);
  const rows = toObjects<Row>(await store.read(statement));
  return rows.map((row) => ({ ...keyOf(row, filter), ...sumsOf(row), ...comparisonOf(filter, row) }));
}

/** Sums the spend of all calls of a scope. */
export async function readCostTotal(store: ReadContext, scope: CostScope): Promise<CostTotal> {
  const args: SqlValue[] = [];
  const sql = `SELECT ${sumsSql(scope)} FROM (${rowsOf(scope, { columns: [] }, args)})`;
  const [row] = toObjects<Row>(await store.read({ sql, args }));
  return { ...spanOf(scope), ...sumsOf(row!), ...comparisonOf(scope, row!) };
}

/** The calls of a run, of a session, or of a short span: those that an index finds. */
export type IndexedCalls =
  & Pick<CostScope, "agentId" | "keyId">
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
  else add("at >= ? AND at < ?", calls.from, calls.to);
  const index = "sessionId" in calls
    ? "calls_by_session"
    : "runId" in calls
    ? "calls_by_run"
    : "calls_by_time";
  where.push(...conditionsOf({ agentId: calls.agentId, keyId: calls.keyId }, args));
  const keys = groupBy === "session" ? ["session_id"] : KEYS[groupBy];
  if (groupBy === "session") where.push("session_id IS NOT NULL");
  const sums = groupBy === "session" ? selectEntity("session_id") : `SELECT ${keys}, ${COUNTER_SUMS}`;
  const sql = `SELECT * FROM (${sums} FROM (
  SELECT session_id, agent_id, provider, model, at AS first_at, at AS last_at, position, ${ENTRY_COUNTERS}
  FROM calls INDEXED BY ${index} WHERE ${where.join(" AND ")}
) GROUP BY ${keys}) ORDER BY ${DEAREST_FIRST}, ${keys} LIMIT ?`;
  const rows = toObjects<Row>(await store.read({ sql, args: [...args, limit] }));
  return rows.map((row) => ({ ...keyOf(row, { groupBy, limit, offset: 0 }), ...sumsOf(row) }));
}

/** Returns the time of the first one of the newest calls of a span; its start if it has no more of them. */
export async function readStartOfNewest(
  store: ReadContext,
  { from, to, calls }: { from: number; to: number; calls: number },
): Promise<number> {
  const { rows } = await store.read({
    sql:
      "SELECT at FROM calls INDEXED BY calls_by_time WHERE at >= ? AND at < ? ORDER BY at DESC LIMIT 1 OFFSET ?",
    args: [from, to, calls - 1],
  });
  return rows.length === 0 ? from : Number(rows[0]![0]);
}

const spanOf = ({ from, to }: TimeSpan) => ({
  from: from === undefined ? null : toIso(from),
  to: to === undefined ? null : toIso(to),
});

const KEYS: Record<Exclude<Grouping, "session" | "run">, KeyColumn[]> = {
  agent: ["agent_id"],
  model: ["provider", "model"],
  provider: ["provider"],
  key: ["key_id"],
  hour: ["hour"],
  day: ["day"],
};

const columnsOf = (group: Exclude<Grouping, "session" | "run"> | TagGroup): KeyColumn[] =>
  isTag(group) ? ["tag_value"] : KEYS[group];

const isTag = (group: string | undefined): group is TagGroup =>
  group !== undefined && tagKeyOf(group) !== undefined;

/** Returns the tag of the groups of a report, if they are by one. */
function tagOf({ groupBy, splitBy }: CostFilter): TagGroup | undefined {
  return [groupBy, splitBy].find(isTag);
}

/** Returns the columns that identify the groups of a report. */
export function keyColumnsOf({ groupBy, splitBy }: CostFilter): (KeyColumn | "session_id" | "run_id")[] {
  if (groupBy === "session" || groupBy === "run") return [`${groupBy}_id`, "agent_id", "model"];
  return [...new Set([...columnsOf(groupBy), ...splitBy ? columnsOf(splitBy) : []])];
}

/** Sums agents, models, providers, hours and days, and a second level of groups within them, from rollups. */
function groupStatement(filter: CostFilter): Statement {
  const { groupBy, splitBy, compare, limit, offset } = filter;
  const group = columnsOf(groupBy as keyof typeof KEYS);
  const key = keyColumnsOf(filter) as KeyColumn[];
  const split = key.slice(group.length);
  const isByTime = sortOf(filter) === "time";
  const latest = group.map((column) => `${column} DESC`);
  const args: SqlValue[] = [];
  // Latest first, a piece contributes at most the groups of the page, so each can stop early.
  const take = !isByTime || splitBy || compare ? undefined : (rows: string) => {
    args.push(limit + offset);
    return `SELECT * FROM (SELECT ${key}, ${COUNTER_SUMS} FROM (${rows}) GROUP BY ${key} ORDER BY ${latest} LIMIT ?)`;
  };
  const groups = `SELECT ${key}, ${sumsSql(filter)} FROM (${
    rowsOf(filter, { columns: key, tag: tagOf(filter) }, args, take)
  }) GROUP BY ${key}${
    key.includes("tag_value") ? " HAVING tag_value IS NOT NULL OR sum(model_calls) <> 0" : ""
  }`;
  const order = [
    ...isByTime ? latest : [
      splitBy ? dearestFirst("group_whole", "group_rest") : DEAREST_FIRST,
      ...isTimed(groupBy) ? latest : group,
    ],
    ...splitBy ? [DEAREST_FIRST, ...split] : [],
  ];
  const inGroup = (column: string) => `sum(${column}) OVER (PARTITION BY ${group})`;
  const sums = splitBy && !isByTime
    ? `, ${inGroup("whole_usd")} AS group_whole, ${inGroup("rest_nano_usd")} AS group_rest`
    : "";
  return {
    sql: `SELECT * FROM (SELECT *${sums} FROM (${groups})) ORDER BY ${order.join(", ")} LIMIT ? OFFSET ?`,
    args: [...args, limit, offset],
  };
}

const DEAREST_FIRST = dearestFirst("whole_usd", "rest_nano_usd");

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
      `SELECT *, ${number} AS period FROM (${rows})`
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

const KEY_TEXTS = ["session_id", "run_id", "agent_id", "provider", "model"] as const;

function keyOf(row: Row, filter: CostFilter): Partial<CostRow> {
  const tag = tagOf(filter);
  const texts = KEY_TEXTS.flatMap((name) => row[name] === undefined ? [] : [[name, row[name]]]);
  return {
    ...Object.fromEntries(texts),
    ...(tag !== undefined && { tag_key: tagKeyOf(tag)!, tag_value: row.tag_value as string | null }),
    // Rollups have no null in their keys.
    ...(row.key_id !== undefined && { key_id: row.key_id === "" ? null : row.key_id as string }),
    ...(row.hour !== undefined && { hour: toIso(Number(row.hour)) }),
    ...(row.day !== undefined && { day: toIso(Number(row.day)).slice(0, 10) }),
  };
}

function sumsOf(row: Row, prefix = "") {
  const number = (name: string) => Number(row[prefix + name] ?? 0);
  return {
    model_calls: number("model_calls"),
    unpriced_calls: number("unpriced_calls"),
    partly_priced_calls: number("partly_priced_calls"),
    estimated_calls: number("estimated_calls"),
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
