import { NANO_PER_USD } from "../kernel/money.ts";
import { startSql } from "../contract/windows.ts";
import { isAfter, type Logic, NOT_INDEXED, ORDERED_JOIN, rowTrigger, type Statement } from "../store/mod.ts";

/*
 * Every total is a rollup up to a position of the ledger plus the calls after it, read in one statement, so that it is
 * always exact. Each rollup has a view that unites both; queries group and sum its rows.
 */

/** The columns of the counters, in the order of every table and view that has them. */
export const COUNTER_COLUMNS = [
  "model_calls",
  "unpriced_calls",
  "partly_priced_calls",
  "estimated_calls",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "total_tokens",
  "whole_usd",
  "rest_nano_usd",
  "plan_whole_usd",
  "plan_rest_nano_usd",
  "lower_bound_calls",
] as const;

/** SQL for the calls of one entry: 1 for a call, -1 for one that takes a call back, and 0 for other corrections. */
export const CALLS_OF_ENTRY = "CASE WHEN adjusts IS NULL THEN 1 WHEN stands <> adjusts THEN -1 ELSE 0 END";

/** SQL for whether only a log or an exporter has seen a call: the totals of such sources leave out calls. */
export const IS_LOWER_BOUND = "source IN ('log', 'otlp')";
const LOWER_BOUND_CALLS = `CASE WHEN ${IS_LOWER_BOUND} THEN ${CALLS_OF_ENTRY} ELSE 0 END`;

/** SQL for one entry of the ledger as counters. Whole USD and the rest are separate, so that neither sum exceeds 64 bits. */
export const ENTRY_COUNTERS = `${CALLS_OF_ENTRY} AS model_calls, unpriced AS unpriced_calls,
  partly_priced AS partly_priced_calls, is_estimated AS estimated_calls, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, reasoning_tokens, total_tokens, coalesce(cost_nano_usd, 0) / ${NANO_PER_USD} AS whole_usd,
  coalesce(cost_nano_usd, 0) % ${NANO_PER_USD} AS rest_nano_usd, coalesce(plan_nano_usd, 0) / ${NANO_PER_USD} AS plan_whole_usd,
  coalesce(plan_nano_usd, 0) % ${NANO_PER_USD} AS plan_rest_nano_usd, ${LOWER_BOUND_CALLS} AS lower_bound_calls`;

export const COUNTERS = COUNTER_COLUMNS.join(", ");
export const COUNTER_SUMS = COUNTER_COLUMNS.map((column) => `sum(${column}) AS ${column}`).join(", ");

const KEY = ["agent_id", "provider", "model", "key_id"];
const addTo = (table: string) =>
  COUNTER_COLUMNS.map((column) => `${column} = ${table}.${column} + excluded.${column}`).join(", ");

const addIncrement = (table: string, time?: { column: string; sql: string }) =>
  `INSERT INTO ${table} SELECT ${
    [...time ? [time.sql] : [], ...[...KEY, ...COUNTER_COLUMNS].map((column) => `NEW.${column}`)].join(", ")
  }
  WHERE true ON CONFLICT (${[...time ? [time.column] : [], ...KEY].join(", ")}) DO UPDATE SET ${
    addTo(table)
  }`;

const ofSource = (row: string) =>
  ["source", "agent_id", "machine", "first_at", "last_at", ...COUNTER_COLUMNS].map((column) => row + column)
    .join(", ");

/** Adds the calls of one hour, agent, model, key and source to the hour, the day, the total and the source, in one pass over the calls. */
export const usageIncrements: readonly Logic[] = [
  {
    name: "usage_increments",
    sql: `CREATE VIEW usage_increments AS SELECT h.hour, ${
      [...KEY, ...COUNTER_COLUMNS].map((column) => `h.${column}`).join(", ")
    }, s.source, s.machine, s.first_at, s.last_at FROM usage_hours h, usage_sources s WHERE false`,
  },
  ...rowTrigger({
    name: "add_usage",
    event: "INSTEAD OF INSERT ON usage_increments",
    body: `${addIncrement("usage_hours", { column: "hour", sql: "NEW.hour" })};
  ${addIncrement("usage_days", { column: "day", sql: startSql("day", "NEW.hour") })};
  ${addIncrement("usage_totals")};
  INSERT INTO usage_sources (${ofSource("")}) SELECT ${ofSource("NEW.")} WHERE true
  ON CONFLICT (source, agent_id, machine) DO UPDATE SET first_at = min(usage_sources.first_at, excluded.first_at),
    last_at = max(usage_sources.last_at, excluded.last_at), ${addTo("usage_sources")};`,
  }),
];

/** SQL for the position of the ledger up to which the totals are rolled up. */
export const TOTALS_POSITION = "(SELECT position FROM rollup_positions WHERE name = 'totals')";

/** SQL for the calls after it, always read by position: they are few. */
const TAIL = `FROM calls ${NOT_INDEXED} WHERE ${isAfter(TOTALS_POSITION)}`;

const DIMENSIONS = "agent_id, provider, model";
const DIMENSIONS_OF_ENTRY = `${DIMENSIONS}, coalesce(key_id, '') AS key_id`;
/** SQL for the machine of an entry of a log or an exporter: a tag; else ''. */
export const MACHINE = `CASE WHEN ${IS_LOWER_BOUND} THEN coalesce(tags ->> 'machine', '') ELSE '' END`;
const SOURCE_OF_ENTRY = `coalesce(source, ''), agent_id, ${MACHINE}`;
const DAY = startSql("day", "at");
const HOUR = startSql("hour", "at");

const view = (name: string, table: string, columns: string, entry: string, where = ""): Logic => ({
  name,
  sql: `CREATE VIEW ${name} AS SELECT ${columns}, ${COUNTERS} FROM ${table}
UNION ALL SELECT ${entry}, ${ENTRY_COUNTERS} ${TAIL}${where}`,
});

/** The views of the totals: rollup and tail. */
export const usageViews: readonly Logic[] = [
  view(
    "run_usage",
    "usage_runs",
    "run_id, session_id, agent_id, model, first_at, last_at, 0 AS position",
    "run_id, session_id, agent_id, model, at, at, position",
    " AND run_id IS NOT NULL",
  ),
  view(
    "session_usage",
    "usage_sessions",
    "session_id, agent_id, model, first_at, last_at, 0 AS position",
    "session_id, agent_id, model, at, at, position",
    " AND session_id IS NOT NULL",
  ),
  view("total_usage", "usage_totals", `${DIMENSIONS}, key_id`, DIMENSIONS_OF_ENTRY),
  view("daily_usage", "usage_days", `day, ${DIMENSIONS}, key_id`, `${DAY}, ${DIMENSIONS_OF_ENTRY}`),
  view("hourly_usage", "usage_hours", `hour, ${DIMENSIONS}, key_id`, `${HOUR}, ${DIMENSIONS_OF_ENTRY}`),
  view(
    "source_usage",
    "usage_sources",
    "source, agent_id, machine, first_at, last_at",
    `${SOURCE_OF_ENTRY}, at, at`,
  ),
];

/** SQL for the entries after the totals that meet a condition, to unite with rows of a rollup. */
export const tailEntries = (columns: string, condition: string) =>
  `SELECT ${columns}, ${ENTRY_COUNTERS} ${TAIL} AND ${condition}`;

/** Added to a time in milliseconds and to a position, these give numbers of 17 and 19 digits. */
const FIXED_WIDTH = { time: "10000000000000000", position: "1000000000000000000" };

/**
 * SQL for the text of the row with the smallest or greatest time of a group, and among those with the smallest or greatest
 * `position`, which is 0 for a rollup. Compares them as one text of fixed width.
 */
export function textAt(which: "min" | "max", time: string, column: string): string {
  const key =
    `CAST(${time} + ${FIXED_WIDTH.time} AS TEXT) || CAST(position + ${FIXED_WIDTH.position} AS TEXT)`;
  return `substr(${which}(${key} || ${column}), 37)`;
}

/**
 * SQL for the rows of `run_usage` or `session_usage` of some ids, a JSON array. Written out because SQLite does not use the
 * index through the view: the version of a server would read the whole rollup.
 */
export function usageOfIds(kind: "run" | "session", ids: string): string {
  const key = `${kind}_id`;
  return `(SELECT u.${key}, u.agent_id, u.model, u.first_at, u.last_at, 0 AS position, ${
    COUNTER_COLUMNS.map((column) => `u.${column}`).join(", ")
  } FROM json_each(${ids}) j ${ORDERED_JOIN} usage_${kind}s u ON u.${key} = j.value
UNION ALL SELECT ${key}, agent_id, model, at, at, position, ${ENTRY_COUNTERS} ${TAIL}
  AND ${key} IN (SELECT value FROM json_each(${ids}))) of_ids`;
}

/** SQL for the agents of the first calls of runs or sessions, as rows `(id, agent_id)`; the ids are a JSON array. */
export const firstAgentsOf = (kind: "run" | "session", ids: string) =>
  `(SELECT ${kind}_id AS id, ${textAt("min", "first_at", "agent_id")} AS agent_id
  FROM ${usageOfIds(kind, ids)} GROUP BY ${kind}_id)`;

/** The number of entries that one commit rolls up. */
const CALLS_PER_ROLL_UP = 5_000;

const SUMS = [
  `sum(${CALLS_OF_ENTRY})`,
  "sum(unpriced)",
  "sum(partly_priced)",
  "sum(is_estimated)",
  ...COUNTER_COLUMNS.slice(4, 10).map((column) => `sum(${column})`),
  `sum(coalesce(cost_nano_usd, 0) / ${NANO_PER_USD})`,
  `sum(coalesce(cost_nano_usd, 0) % ${NANO_PER_USD})`,
  `coalesce(sum(plan_nano_usd / ${NANO_PER_USD}), 0)`,
  `coalesce(sum(plan_nano_usd % ${NANO_PER_USD}), 0)`,
  `sum(${LOWER_BOUND_CALLS})`,
].map((sum, index) => `${sum} AS ${COUNTER_COLUMNS[index]}`).join(", ");
const newer = (table: string, column: string) =>
  `${column} = CASE WHEN excluded.last_at >= ${table}.last_at THEN excluded.${column} ELSE ${table}.${column} END`;
// The agent is that of the first call, the model that of the newest, by time and then by position: calls that were rolled up
// earlier come first.
const addToEntity = (table: string) =>
  `first_at = min(${table}.first_at, excluded.first_at),
  agent_id = CASE WHEN excluded.first_at < ${table}.first_at THEN excluded.agent_id ELSE ${table}.agent_id END,
  ${newer(table, "model")}, last_at = max(${table}.last_at, excluded.last_at), ${addTo(table)}`;
/** A power of two above `CALLS_PER_ROLL_UP`: a time and a position after the totals are one number. */
const STEPS = 8_192;
const KEY_OF_TIME = `at * ${STEPS} + position - ${TOTALS_POSITION}`;
const valueAt = (key: string, column: string) =>
  `(SELECT c.${column} FROM calls c WHERE c.position = ${TOTALS_POSITION} + ${key} % ${STEPS})`;

/** Adds new calls to the totals of their runs or sessions. */
const addEntities = (table: string, id: string, newCalls: string, more: readonly string[] = []) =>
  `INSERT INTO ${table}
SELECT ${id}, ${
    [
      ...more.map((column) => valueAt("newest", column)),
      valueAt("oldest", "agent_id"),
      valueAt("newest", "model"),
    ]
      .join(", ")
  }, oldest / ${STEPS}, newest / ${STEPS}, ${COUNTERS}
FROM (SELECT ${id}, min(${KEY_OF_TIME}) AS oldest, max(${KEY_OF_TIME}) AS newest, ${SUMS}
  ${newCalls} AND ${id} IS NOT NULL GROUP BY ${id}) entities WHERE true
ON CONFLICT (${id}) DO UPDATE SET ${
    [...more.map((column) => newer(table, column)), addToEntity(table)].join(", ")
  }`;
const GROUP = `${DIMENSIONS}, coalesce(key_id, '')`;

function toRollUp(calls: number): readonly Statement[] {
  const upTo = `min((SELECT coalesce(max(position), 0) FROM calls), ${TOTALS_POSITION} + ${calls})`;
  const newCalls = `${TAIL} AND position <= ${upTo}`;
  return [
    addEntities("usage_runs", "run_id", newCalls, ["session_id"]),
    addEntities("usage_sessions", "session_id", newCalls),
    `INSERT INTO usage_increments SELECT ${HOUR}, ${GROUP}, ${SUMS}, coalesce(source, ''), ${MACHINE}, min(at), max(at)
${newCalls} GROUP BY 1, ${GROUP}, coalesce(source, ''), ${MACHINE}`,
    // Last: the statements before it read the old position.
    `UPDATE rollup_positions SET position = ${upTo} WHERE name = 'totals'`,
  ].map((sql) => ({ sql }));
}

const ROLL_UP = toRollUp(CALLS_PER_ROLL_UP);

/**
 * Returns the statements that roll up at most so many calls, as one unit that moves the position of the totals: concurrent
 * processes roll up different calls.
 */
export function rollUpTotals(calls = CALLS_PER_ROLL_UP): readonly Statement[] {
  return calls === CALLS_PER_ROLL_UP ? ROLL_UP : toRollUp(calls);
}
