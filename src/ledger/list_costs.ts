import { NANO_PER_USD } from "../kernel/money.ts";
import type { CostRow } from "../contract/costs.ts";
import type { Grouping } from "../contract/values.ts";
import { DAY_MS, HOUR_MS, toIso } from "../kernel/clock.ts";
import { type ResultSet, type SqlValue, type Statement, type Store, toObjects } from "../store/mod.ts";
import { costUsd } from "./token_usage.ts";
import { COUNTER_SUMS, COUNTERS, ENTRY_COUNTERS, textAt } from "./usage_sql.ts";

/** The spend to sum. Times in milliseconds: `from` inclusive, `to` exclusive. */
export interface CostFilter {
  groupBy: Grouping;
  from?: number;
  to?: number;
  agentId?: string;
  model?: string;
  limit: number;
  offset: number;
}

const DEAREST_FIRST = `sum(whole_usd) + sum(rest_nano_usd) / ${NANO_PER_USD} DESC,
  sum(rest_nano_usd) % ${NANO_PER_USD} DESC`;

/**
 * Sums spend by agent, model, hour, day, session or run. Calls without a price count as zero and are counted separately.
 * Agents and models are sorted by cost, highest first, the others by time, latest first.
 *
 * Sums are read from rollups and the calls after them: whole days, then whole hours, then the calls of the partial hours at
 * both ends.
 */
export async function listCosts(store: Store, filter: CostFilter): Promise<CostRow[]> {
  const statement = isLedgerEntity(filter) ? entityStatement(filter) : rollupStatement(filter);
  return toObjects<Record<string, SqlValue>>(await read(store, statement)).map(toCostRow);
}

function read(store: Store, statement: Statement): Promise<ResultSet> {
  return store.read(statement);
}

function isLedgerEntity({ groupBy }: CostFilter): boolean {
  return groupBy === "session" || groupBy === "run";
}

/**
 * Sums sessions or runs, latest first: from their rollup, or from the calls if the filter may cut a session or run. The agent
 * is that of the first call, the model that of the newest.
 */
function entityStatement(filter: CostFilter): Statement {
  const kind = filter.groupBy as "session" | "run";
  const key = `${kind}_id`;
  const page = [filter.limit, filter.offset];
  const isWhole = [filter.from, filter.to, filter.agentId, filter.model].every((part) => part === undefined);
  if (isWhole) {
    // A call of the tail may be earlier than the rolled-up calls of its session: each can displace one row of a page.
    const tail =
      `calls NOT INDEXED WHERE position > (SELECT position FROM rollup_positions WHERE name = 'totals') AND ${key} IS NOT NULL`;
    return {
      sql: `WITH moved(id) AS MATERIALIZED (SELECT DISTINCT ${key} FROM ${tail}),
page(id) AS MATERIALIZED (
  SELECT id FROM moved
  UNION SELECT ${key} FROM (SELECT ${key} FROM usage_${kind}s ORDER BY first_at DESC, ${key} DESC
    LIMIT ?1 + ?2 + (SELECT count(*) FROM moved))
)
SELECT ${key}, ${textAt("min", "first_at", "agent_id")} AS agent_id, ${
        textAt("max", "last_at", "model")
      } AS model,
  ${COUNTER_SUMS}, min(first_at) AS first_at
FROM (
  SELECT ${key}, agent_id, model, first_at, last_at, 0 AS position, ${COUNTERS} FROM page CROSS JOIN usage_${kind}s ON ${key} = id
  UNION ALL SELECT ${key}, agent_id, model, at, at, position, ${ENTRY_COUNTERS} FROM ${tail}
) GROUP BY ${key} ORDER BY first_at DESC, ${key} DESC LIMIT ?1 OFFSET ?2`,
      args: page,
    };
  }
  const args: SqlValue[] = [];
  const where = conditions(filter, args, `${key} IS NOT NULL`);
  span(filter, args);
  return {
    sql: `SELECT ${key}, ${textAt("min", "at", "agent_id")} AS agent_id, ${
      textAt("max", "at", "model")
    } AS model,
  ${COUNTER_SUMS}, min(at) AS first_at
FROM (SELECT ${key}, agent_id, model, at, position, ${ENTRY_COUNTERS} FROM calls WHERE ${where} AND at >= ? AND at < ?)
GROUP BY ${key} ORDER BY first_at DESC, ${key} DESC LIMIT ? OFFSET ?`,
    args: [...args, ...page],
  };
}

/** Sums agents, models, hours and days, from rollups. */
function rollupStatement(filter: CostFilter): Statement {
  const { groupBy } = filter;
  const [key, order] = {
    agent: ["agent_id", `${DEAREST_FIRST}, agent_id`],
    model: ["provider, model", `${DEAREST_FIRST}, provider, model`],
    hour: ["hour", "hour DESC"],
    day: ["day", "day DESC"],
  }[groupBy as "agent" | "model" | "hour" | "day"]!;
  const args: SqlValue[] = [];
  const pieces = sources(filter);
  const parts = pieces.map(({ select, from, to }) => {
    const where = conditions(filter, args, select.where);
    if (from !== undefined) args.push(from, to!);
    const rows = `SELECT ${select.key(groupBy)}, ${select.counters} FROM ${select.table} WHERE ${where}` +
      (from === undefined ? "" : ` AND ${select.time} >= ? AND ${select.time} < ?`);
    if (pieces.length === 1 || (groupBy !== "hour" && groupBy !== "day")) return rows;
    // Latest first, a piece contributes at most the groups of the page, so each can stop early.
    args.push(filter.limit + filter.offset);
    return `SELECT * FROM (SELECT ${key}, ${COUNTER_SUMS} FROM (${rows}) GROUP BY ${key} ORDER BY ${order} LIMIT ?)`;
  });
  return {
    sql: `SELECT ${key}, ${COUNTER_SUMS} FROM (${
      parts.join(" UNION ALL ")
    }) GROUP BY ${key} ORDER BY ${order} LIMIT ? OFFSET ?`,
    args: [...args, filter.limit, filter.offset],
  };
}

interface Source {
  table: string;
  time: string;
  counters: string;
  where: string;
  key(groupBy: Grouping): string;
}

const keyOf = (time: Partial<Record<Grouping, string>>) => (groupBy: Grouping): string =>
  groupBy === "agent" ? "agent_id" : groupBy === "model" ? "provider, model" : time[groupBy]!;

const TOTALS: Source = { table: "usage_totals", time: "", counters: COUNTERS, where: "1", key: keyOf({}) };
const DAYS: Source = {
  table: "usage_days",
  time: "day",
  counters: COUNTERS,
  where: "1",
  key: keyOf({ day: "day" }),
};
const HOURS: Source = {
  table: "usage_hours",
  time: "hour",
  counters: COUNTERS,
  where: "1",
  key: keyOf({ hour: "hour", day: `hour - hour % ${DAY_MS} AS day` }),
};
const CALLS: Source = {
  table: "calls",
  time: "at",
  counters: ENTRY_COUNTERS,
  where: "1",
  key: keyOf({ hour: `at - at % ${HOUR_MS} AS hour`, day: `at - at % ${DAY_MS} AS day` }),
};
/** The calls after the rollups. */
const TAIL: Source = {
  ...CALLS,
  table: "calls NOT INDEXED",
  where: "position > (SELECT position FROM rollup_positions WHERE name = 'totals')",
};

/** Cuts a time range into pieces, each with the coarsest rollup that fits exactly, and the calls after the rollups. */
function sources(filter: CostFilter): { select: Source; from?: number; to?: number }[] {
  const { groupBy } = filter;
  const isByTime = groupBy === "hour" || groupBy === "day";
  if (filter.from === undefined && filter.to === undefined) {
    return [{ select: groupBy === "hour" ? HOURS : groupBy === "day" ? DAYS : TOTALS }, { select: TAIL }];
  }
  const from = Math.max(filter.from ?? 0, 0);
  const to = Math.max(Math.min(filter.to ?? MAX_TIME, MAX_TIME), from);
  const pieces: { select: Source; from: number; to: number }[] = [];
  const cut = (select: Source, start: number, end: number) => {
    if (start < end) pieces.push({ select, from: start, to: end });
  };
  const [hourStart, hourEnd] = whole(from, to, HOUR_MS);
  if (hourStart >= hourEnd) {
    cut(CALLS, from, to);
  } else {
    cut(CALLS, from, hourStart);
    const [dayStart, dayEnd] = whole(hourStart, hourEnd, DAY_MS);
    if (dayStart >= dayEnd || groupBy === "hour") {
      cut(HOURS, hourStart, hourEnd);
    } else {
      cut(HOURS, hourStart, dayStart);
      cut(DAYS, dayStart, dayEnd);
      cut(HOURS, dayEnd, hourEnd);
    }
    cut(TAIL, hourStart, hourEnd);
    cut(CALLS, hourEnd, to);
  }
  if (pieces.length === 0) pieces.push({ select: isByTime ? HOURS : DAYS, from: 0, to: 0 });
  return pieces;
}

/** The largest time of a `Date`. */
const MAX_TIME = 8_640_000_000_000_000;

/** Returns the largest part of a range that starts and ends on a boundary. */
function whole(from: number, to: number, lengthMs: number): [number, number] {
  return [Math.ceil(from / lengthMs) * lengthMs, Math.floor(to / lengthMs) * lengthMs];
}

function conditions(filter: CostFilter, args: SqlValue[], first: string): string {
  const all = [first];
  if (filter.agentId !== undefined) {
    all.push("agent_id = ?");
    args.push(filter.agentId);
  }
  if (filter.model !== undefined) {
    all.push("model = ?");
    args.push(filter.model);
  }
  return all.join(" AND ");
}

function span(filter: CostFilter, args: SqlValue[]): void {
  args.push(filter.from ?? 0, filter.to ?? MAX_TIME);
}

function toCostRow(row: Record<string, SqlValue>): CostRow {
  const number = (name: string) => Number(row[name] ?? 0);
  const text = (name: string) => (row[name] === undefined ? {} : { [name]: row[name] });
  const time = (name: "hour" | "day") => {
    if (row[name] === undefined) return {};
    const iso = toIso(Number(row[name]));
    return { [name]: name === "day" ? iso.slice(0, 10) : iso };
  };
  return {
    ...text("session_id"),
    ...text("run_id"),
    ...text("agent_id"),
    ...text("provider"),
    ...text("model"),
    ...time("hour"),
    ...time("day"),
    model_calls: number("model_calls"),
    unpriced_calls: number("unpriced_calls"),
    partly_priced_calls: number("partly_priced_calls"),
    input_tokens: number("input_tokens"),
    output_tokens: number("output_tokens"),
    cache_read_tokens: number("cache_read_tokens"),
    cache_write_tokens: number("cache_write_tokens"),
    reasoning_tokens: number("reasoning_tokens"),
    total_tokens: number("total_tokens"),
    cost_usd: costUsd({
      modelCalls: number("model_calls"),
      unpricedCalls: number("unpriced_calls"),
      costNanoUsd: BigInt(row.whole_usd as bigint) * NANO_PER_USD + BigInt(row.rest_nano_usd as bigint),
    }),
  };
}
