import type { SqlValue, Statement } from "../store/mod.ts";
import { conditionsOf, dearestFirst, hasTags, MAX_TIME } from "./cost_conditions.ts";
import { type CostFilter, sortOf } from "./cost_filter.ts";
import { COUNTER_SUMS, COUNTERS, ENTRY_COUNTERS, textAt, TOTALS_POSITION } from "./usage_sql.ts";

/**
 * Returns the query that sums sessions or runs. The agent is that of the first call, the model that of the newest. Sums are
 * those of the rollup where no filter but a span may cut a session or run, else those of the calls.
 */
export function entityStatement(kind: "session" | "run", filter: CostFilter): Statement {
  const own = [filter.agentId, filter.model, filter.provider, filter.keyId];
  return own.every((part) => part === undefined) && !hasTags(filter)
    ? ofRollup(kind, filter)
    : ofCalls(kind, filter);
}

/** SQL for the sums of sessions or runs over their calls, with the agent of the first and the model of the newest. */
export const selectEntity = (key: string) =>
  `SELECT ${key}, ${textAt("min", "first_at", "agent_id")} AS agent_id, ${
    textAt("max", "last_at", "model")
  } AS model, ${COUNTER_SUMS}, min(first_at) AS first_at`;

const orderOf = (key: string, filter: CostFilter) =>
  `${
    sortOf(filter) === "cost" ? `${dearestFirst("whole_usd", "rest_nano_usd")}, ` : ""
  }first_at DESC, ${key} DESC`;

function ofCalls(kind: "session" | "run", filter: CostFilter): Statement {
  const key = `${kind}_id`;
  const args: SqlValue[] = [];
  const where = [`${key} IS NOT NULL`, ...conditionsOf(filter, args), "at >= ? AND at < ?"].join(" AND ");
  args.push(filter.from ?? 0, filter.to ?? MAX_TIME, filter.limit, filter.offset);
  return {
    sql: `SELECT * FROM (${selectEntity(key)}
FROM (SELECT ${key}, agent_id, model, at AS first_at, at AS last_at, position, ${ENTRY_COUNTERS} FROM calls WHERE ${where})
GROUP BY ${key}) ORDER BY ${orderOf(key, filter)} LIMIT ? OFFSET ?`,
    args,
  };
}

/**
 * Sums of the rollup for what lies within the span as a whole, of the calls for the few sessions or runs that its start or
 * end cuts, and of the calls after the rollup. Arguments: 1 `from`, 2 `to`, 3 limit, 4 offset.
 */
function ofRollup(kind: "session" | "run", filter: CostFilter): Statement {
  const key = `${kind}_id`;
  const { from, to, limit, offset } = filter;
  const isWhole = from === undefined && to === undefined;
  const tail = `calls NOT INDEXED WHERE position > ${TOTALS_POSITION} AND ${key} IS NOT NULL`;
  // By cost and for the cut every row is read: a unary plus keeps the index by time out, which would be slower.
  const first = sortOf(filter) === "cost" ? "+first_at" : "first_at";
  const inside = isWhole ? "true" : `${first} >= ?1 AND last_at < ?2`;
  const cut =
    `cut(id, first_at, last_at) AS MATERIALIZED (SELECT ${key}, first_at, last_at FROM usage_${kind}s
  WHERE (+first_at < ?1 AND last_at >= ?1) OR (+first_at < ?2 AND last_at >= ?2)),`;
  const entry = `${key}, agent_id, model, at, at, position, ${ENTRY_COUNTERS}`;
  // A call of the tail may change the order of the rolled-up calls of its session: each can displace one row of a page.
  return {
    sql: `WITH moved(id) AS MATERIALIZED (SELECT DISTINCT ${key} FROM ${tail}),
${isWhole ? "" : cut}
page(id) AS MATERIALIZED (
  SELECT id FROM moved
  UNION SELECT ${key} FROM (SELECT ${key} FROM usage_${kind}s WHERE ${inside}
    ORDER BY ${orderOf(key, filter)}
    LIMIT ?3 + ?4 + (SELECT count(*) FROM moved))
)
SELECT * FROM (${selectEntity(key)}
FROM (
  SELECT ${key}, agent_id, model, first_at, last_at, 0 AS position, ${COUNTERS}
    FROM page CROSS JOIN usage_${kind}s ON ${key} = id WHERE ${inside}
  ${isWhole ? "" : `UNION ALL ${cutCalls(kind, entry)}`}
  UNION ALL SELECT ${entry} FROM ${tail}${isWhole ? "" : " AND at >= ?1 AND at < ?2"}
) GROUP BY ${key}) ORDER BY ${orderOf(key, filter)} LIMIT ?3 OFFSET ?4`,
    args: [from ?? 0, to ?? MAX_TIME, limit, offset],
  };
}

/**
 * SQL for the rolled-up calls within the span of the sessions or runs that it cuts: of sessions by their index, of runs by
 * time, from the start to the last call of those cut there, and from the first call of those cut at the end to the end.
 */
function cutCalls(kind: "session" | "run", entry: string): string {
  const rolledUp = `position <= ${TOTALS_POSITION}`;
  if (kind === "session") {
    return `SELECT ${entry} FROM (SELECT c.* FROM cut CROSS JOIN calls c INDEXED BY calls_by_session
    ON c.session_id = cut.id AND c.at >= ?1 AND c.at < ?2 WHERE ${rolledUp})`;
  }
  const lastCut = "(SELECT coalesce(max(last_at), ?1 - 1) FROM cut WHERE first_at < ?1)";
  const firstCut = "(SELECT coalesce(min(first_at), ?2) FROM cut WHERE last_at >= ?2)";
  const between = (start: string, end: string) =>
    `SELECT ${entry} FROM calls INDEXED BY calls_by_time WHERE at >= ${start} AND at <= ${end}
    AND +run_id IN (SELECT id FROM cut) AND ${rolledUp}`;
  return `${between("?1", `min(?2 - 1, ${lastCut})`)}
  UNION ALL ${between(`max(?1, ${lastCut} + 1, ${firstCut})`, "?2 - 1")}`;
}
