import { migrations } from "../../src/store/migrations/migrations.ts";
import type { SqlValue, Store } from "../../src/store/mod.ts";

/** The schema before the ledger had positions, when every booking wrote its totals. */
export const OLD_VERSION = 5;
export const oldMigrations = migrations.filter(({ version }) => version <= OLD_VERSION);

const DAY = 86_400_000;
const START = Date.parse("2026-10-01T00:00:00.000Z");
const DAYS = 9;

/** A call by its number: times run back and forth, two calls share one, some have no price, a few cost very much. */
const CALLS = `WITH RECURSIVE numbers(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?2)
INSERT INTO calls SELECT printf('call_%09d', n), ${START} + (n / 2 * 7919000) % ${
  DAYS * DAY
}, 'agent-' || (n % 20),
  iif(n % 7 = 0, NULL, 'session-' || (n / 40)), iif(n % 5 = 0, NULL, 'run-' || (n / 20)), iif(n % 5 = 0, NULL, n % 20),
  iif(n % 3 = 0, '["calculator"]', '[]'), 'provider-' || (n % 3), 'model-' || (n % 8), n % 1000 + 7, n % 100, n % 5, n % 3,
  n % 2, n % 50, n % 1000 + 7 + n % 100,
  CASE WHEN n % 11 = 0 THEN NULL WHEN n % 101 = 0 THEN 0 WHEN n % 997 = 0 THEN 1000000000000001 ELSE 1000 + n END,
  iif(n % 11 = 0, 'none', 'config'), iif(n % 4 = 0, NULL, n % 5000), n % 13 = 0 FROM numbers`;

const COUNTERS = [
  "model_calls",
  "unpriced_calls",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "total_tokens",
  "cost_nano_usd",
];
const SUMS = `count(*), sum(cost_nano_usd IS NULL), ${
  COUNTERS.slice(2, -1).map((column) => `sum(${column})`).join(", ")
}, coalesce(sum(cost_nano_usd), 0)`;
const ADD = COUNTERS.map((column) => `${column} = ${column} + excluded.${column}`).join(", ");
const CHUNK = "FROM calls WHERE rowid > ?1 AND rowid <= ?2";
const LAST = `model = CASE WHEN excluded.last_at >= last_at THEN excluded.model ELSE model END,
  last_at = max(last_at, excluded.last_at)`;
const FIRST_AND_LAST = `substr(min(printf('%016d%016d', at, rowid) || agent_id), 33),
  substr(max(printf('%016d%016d', at, rowid) || model), 33), min(at), max(at)`;

const window = (kind: string, lengthMs: number, scope: string) =>
  `INSERT INTO spend_windows SELECT ${scope}, '${kind}', at / ${lengthMs} * ${lengthMs}, sum(cost_nano_usd) ${CHUNK}
  AND cost_nano_usd <> 0 GROUP BY 1, 3 ON CONFLICT DO UPDATE SET cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd`;

/** The rows that the old program wrote beside its calls. */
const TOTALS = [
  `INSERT INTO spend_runs SELECT run_id, max(session_id), ${FIRST_AND_LAST}, ${SUMS} ${CHUNK} AND run_id IS NOT NULL
  GROUP BY run_id ON CONFLICT DO UPDATE SET ${LAST}, ${ADD}`,
  `INSERT INTO spend_sessions SELECT session_id, ${FIRST_AND_LAST}, ${SUMS} ${CHUNK} AND session_id IS NOT NULL
  GROUP BY session_id ON CONFLICT DO UPDATE SET ${LAST}, ${ADD}`,
  `INSERT INTO spend_totals SELECT agent_id, provider, model, ${SUMS} ${CHUNK} GROUP BY 1, 2, 3
  ON CONFLICT DO UPDATE SET ${ADD}`,
  `INSERT INTO spend_days SELECT at - at % ${DAY}, agent_id, provider, model, ${SUMS} ${CHUNK} GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET ${ADD}`,
  `INSERT INTO spend_hours SELECT at - at % 3600000, agent_id, provider, model, ${SUMS} ${CHUNK} GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET ${ADD}`,
  window("day", DAY, "agent_id"),
  window("day", DAY, "''"),
  window("minute", 60_000, "agent_id"),
  window("minute", 60_000, "''"),
];

/** Further rows of a database of that time, which the migration has to keep or replace. */
const OTHERS = [
  `INSERT INTO alert_rules (rule_id, name, threshold_type, threshold_nano_usd, severity, cooldown_ms, repeat, scope,
    enabled, created_at, updated_at, is_armed) VALUES ('rule_1', 'r', 'per_run_usd', 1, 'info', 0, 'cooldown', '', 1, 1, 1, 1)`,
  `INSERT INTO reservations (reservation_id, run_id, amount_nano_usd, expires_at) VALUES ('res_1', 'run-1', 5, 9e12)`,
  `INSERT INTO sessions (session_id, agent_id, status, event_count, created_at, updated_at)
    VALUES ('session-1', 'agent-1', 'completed', 2, 1, 1)`,
  `INSERT INTO events (session_id, seq, agent_id, type, at) VALUES ('session-1', 1, 'agent-1', 'session.created', 1),
    ('session-1', 2, 'agent-1', 'cost.recorded', 2)`,
];

const CALLS_PER_COMMIT = 10_000;

/** Fills a database of the old schema with so many calls, and the totals that the old program would have written. */
export async function fillOldDatabase(store: Pick<Store, "write">, calls: number): Promise<void> {
  await store.write(OTHERS.map((sql) => ({ sql })));
  for (let from = 0; from < calls; from += CALLS_PER_COMMIT) {
    const args = [from, Math.min(from + CALLS_PER_COMMIT, calls)];
    await store.write([CALLS, ...TOTALS].map((sql) => ({ sql, args })));
  }
}

/** The old program's first statements to book a call, with a value for each column. */
export function oldBooking(callId: string): { sql: string; args?: SqlValue[] }[] {
  return [
    {
      sql:
        `INSERT INTO calls (call_id, at, agent_id, session_id, run_id, step, tools, provider, model, input_tokens,
        output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens,
        cost_nano_usd, price_source, duration_ms, estimated) VALUES (${Array(20).fill("?").join(", ")})`,
      args: [
        ...[callId, START, "agent-1", null, null, null, "[]", "provider-1", "model-1"],
        ...[1, 1, 0, 0, 0, 0, 2, 5, "config", null, 0],
      ],
    },
    {
      sql: `INSERT INTO spend_totals (agent_id, provider, model, ${COUNTERS.join(", ")})
        VALUES ('agent-1', 'provider-1', 'model-1', 1, 0, 1, 1, 0, 0, 0, 2, 5)
        ON CONFLICT (agent_id, provider, model) DO UPDATE SET ${ADD}`,
    },
  ];
}

/** Every total of the old program: stored, and as the sum of the ledger. */
export async function readOldTotals(store: Pick<Store, "readAll">) {
  const ofCalls = (key: string, where = "1", more = "") =>
    `SELECT ${key}, ${SUMS}, sum(estimated)${more} FROM calls WHERE ${where} GROUP BY ${
      key.split(", ").map((_, index) => index + 1).join(", ")
    } ORDER BY ${key.split(", ").map((_, index) => index + 1).join(", ")}`;
  const kept = (table: string, key: string) =>
    `SELECT ${key}, ${COUNTERS.join(", ")} FROM ${table} ORDER BY ${key}`;
  const span = `, min(at), max(at), ${FIRST_AND_LAST.replace(", min(at), max(at)", "")}`;
  const dimensions = "agent_id, provider, model";
  const statements = {
    runs: ofCalls("run_id", "run_id IS NOT NULL", span),
    sessions: ofCalls("session_id", "session_id IS NOT NULL", span),
    totals: ofCalls(dimensions),
    days: ofCalls(`at - at % ${DAY}, ${dimensions}`),
    hours: ofCalls(`at - at % 3600000, ${dimensions}`),
    keptRuns: kept("spend_runs", "run_id"),
    keptSessions: kept("spend_sessions", "session_id"),
    keptTotals: kept("spend_totals", dimensions),
    keptDays: kept("spend_days", `day, ${dimensions}`),
    keptHours: kept("spend_hours", `hour, ${dimensions}`),
    calls: "SELECT rowid, * FROM calls ORDER BY rowid",
  };
  return await readEach(store, statements);
}

/** The same of a migrated database, in the same form, through the views. */
export async function readNewTotals(store: Pick<Store, "readAll">) {
  const sums = `${COUNTERS.slice(0, -1).map((column) => `sum(${column})`).join(", ")},
    sum(whole_usd) * 1000000000 + sum(rest_nano_usd)`;
  const group = (key: string) => key.split(", ").map((_, index) => index + 1).join(", ");
  const ofView = (view: string, key: string, more = "") =>
    `SELECT ${key}, ${sums}${more} FROM ${view} GROUP BY ${group(key)} ORDER BY ${group(key)}`;
  const span = `, sum(estimated_calls), min(first_at), max(last_at), min(agent_id), min(model)`;
  const estimated = ", sum(estimated_calls)";
  const dimensions = "agent_id, provider, model";
  return await readEach(store, {
    runs: ofView("run_usage", "run_id", span),
    sessions: ofView("session_usage", "session_id", span),
    totals: ofView("total_usage", dimensions, estimated),
    days: ofView("daily_usage", `day, ${dimensions}`, estimated),
    hours: ofView("hourly_usage", `hour, ${dimensions}`, estimated),
    keptRuns: ofView("run_usage", "run_id"),
    keptSessions: ofView("session_usage", "session_id"),
    keptTotals: ofView("total_usage", dimensions),
    keptDays: ofView("daily_usage", `day, ${dimensions}`),
    keptHours: ofView("hourly_usage", `hour, ${dimensions}`),
    calls:
      `SELECT position, call_id, at, agent_id, session_id, run_id, step, tools, provider, model, input_tokens,
      output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens,
      cost_nano_usd, price_source, duration_ms, is_estimated FROM calls ORDER BY position`,
  });
}

async function readEach(
  store: Pick<Store, "readAll">,
  statements: Record<string, string>,
): Promise<Record<string, SqlValue[][]>> {
  const results = await store.readAll(Object.values(statements).map((sql) => ({ sql })));
  return Object.fromEntries(Object.keys(statements).map((name, index) => [name, results[index]!.rows]));
}
