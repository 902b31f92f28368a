import assert from "node:assert/strict";
import { DATABASE_NOW, type Store, toObjects } from "../../src/store/mod.ts";

const COUNTERS = `sum(model_calls) AS model_calls, sum(unpriced_calls) AS unpriced_calls,
  sum(partly_priced_calls) AS partly_priced_calls, sum(estimated_calls) AS estimated_calls,
  sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cache_read_tokens) AS cache_read_tokens,
  sum(cache_write_tokens) AS cache_write_tokens, sum(reasoning_tokens) AS reasoning_tokens,
  sum(total_tokens) AS total_tokens, sum(whole_usd) AS whole_usd, sum(rest_nano_usd) AS rest_nano_usd,
  sum(lower_bound_calls) AS lower_bound_calls,
  sum(plan_whole_usd) AS plan_whole_usd, sum(plan_rest_nano_usd) AS plan_rest_nano_usd`;

/** The same of entries of the ledger. */
const LEDGER_COUNTERS =
  `sum(CASE WHEN adjusts IS NULL THEN 1 WHEN stands <> adjusts THEN -1 ELSE 0 END) AS model_calls, sum(unpriced) AS unpriced_calls,
  sum(partly_priced) AS partly_priced_calls, sum(is_estimated) AS estimated_calls, sum(input_tokens) AS input_tokens,
  sum(output_tokens) AS output_tokens, sum(cache_read_tokens) AS cache_read_tokens,
  sum(cache_write_tokens) AS cache_write_tokens, sum(reasoning_tokens) AS reasoning_tokens,
  sum(total_tokens) AS total_tokens, sum(coalesce(cost_nano_usd, 0) / 1000000000) AS whole_usd,
  sum(coalesce(cost_nano_usd, 0) % 1000000000) AS rest_nano_usd,
  sum(CASE WHEN source NOT IN ('log', 'otlp') OR source IS NULL THEN 0
    WHEN adjusts IS NULL THEN 1 WHEN stands <> adjusts THEN -1 ELSE 0 END) AS lower_bound_calls,
  sum(coalesce(plan_nano_usd, 0) / 1000000000) AS plan_whole_usd,
  sum(coalesce(plan_nano_usd, 0) % 1000000000) AS plan_rest_nano_usd`;

const DIMENSIONS = "agent_id, provider, model, key_id";
const OF_ENTRY = "agent_id, provider, model, coalesce(key_id, '') AS key_id";

/** The totals: the view with rollup and tail, the table of the rollup, and their key, also of an entry. */
const TOTALS = [
  { view: "run_usage", table: "usage_runs", key: "run_id", ofEntry: "run_id", where: "run_id IS NOT NULL" },
  {
    view: "session_usage",
    table: "usage_sessions",
    key: "session_id",
    ofEntry: "session_id",
    where: "session_id IS NOT NULL",
  },
  { view: "total_usage", table: "usage_totals", key: DIMENSIONS, ofEntry: OF_ENTRY, where: "true" },
  {
    view: "daily_usage",
    table: "usage_days",
    key: `day, ${DIMENSIONS}`,
    ofEntry: `at - at % 86400000 AS day, ${OF_ENTRY}`,
    where: "true",
  },
  {
    view: "hourly_usage",
    table: "usage_hours",
    key: `hour, ${DIMENSIONS}`,
    ofEntry: `at - at % 3600000 AS hour, ${OF_ENTRY}`,
    where: "true",
  },
  {
    view: "source_usage",
    table: "usage_sources",
    key: "source, agent_id, machine",
    ofEntry:
      "coalesce(source, '') AS source, agent_id, CASE WHEN source IN ('log', 'otlp') THEN coalesce(tags ->> 'machine', '') ELSE '' END AS machine",
    where: "true",
  },
] as const;

const positionOf = (name: string) => `(SELECT position FROM rollup_positions WHERE name = '${name}')`;

/** Rows of one of two queries that are not in the other. */
const difference = (a: string, b: string) =>
  `SELECT * FROM (SELECT 'only here' AS "where", * FROM (${a} EXCEPT ${b}) here
    UNION ALL SELECT 'only in the ledger', * FROM (${b} EXCEPT ${a}) ledger) different LIMIT 5`;

/** Every total is that of the ledger through its view; its rollup is that of the calls up to its position. */
function totalsQueries(): [what: string, sql: string][] {
  return TOTALS.flatMap(({ view, table, key, ofEntry, where }): [string, string][] => {
    const names = key.split(", ").map((_, index) => index + 1).join(", ");
    const ledger = (condition: string) =>
      `SELECT ${ofEntry}, ${LEDGER_COUNTERS} FROM calls WHERE ${where} AND ${condition} GROUP BY ${names}`;
    return [
      [
        `${view} is the sum of the ledger`,
        difference(`SELECT ${key}, ${COUNTERS} FROM ${view} GROUP BY ${names}`, ledger("true")),
      ],
      [
        `${table} is the sum of the ledger up to its position`,
        difference(
          `SELECT ${key}, ${COUNTERS} FROM ${table} GROUP BY ${names}`,
          ledger(`position <= ${positionOf("totals")}`),
        ),
      ],
    ];
  });
}

/** The agent and model of a run or session, and its start and end, are those of its first and last call. */
function entityQueries(): [what: string, sql: string][] {
  return [["run", "usage_runs"], ["session", "usage_sessions"]].map(([kind, table]) => {
    const nth = (order: string) =>
      `row_number() OVER (PARTITION BY ${kind}_id ORDER BY at ${order}, position ${order})`;
    const session = kind === "run" ? " OR u.session_id IS DISTINCT FROM l.session_id" : "";
    return [
      `${table} remembers the first and the last call`,
      `WITH known AS MATERIALIZED (
        SELECT ${kind}_id AS id, at, agent_id, model, session_id, ${nth("ASC")} AS from_first, ${
        nth("DESC")
      } AS from_last
        FROM calls WHERE position <= ${positionOf("totals")} AND ${kind}_id IS NOT NULL)
      SELECT u.* FROM ${table} u LEFT JOIN (SELECT * FROM known WHERE from_first = 1) f ON f.id = u.${kind}_id
        LEFT JOIN (SELECT * FROM known WHERE from_last = 1) l ON l.id = u.${kind}_id
      WHERE u.first_at IS DISTINCT FROM f.at OR u.last_at IS DISTINCT FROM l.at
        OR u.agent_id IS DISTINCT FROM f.agent_id OR u.model IS DISTINCT FROM l.model${session} LIMIT 5`,
    ];
  });
}

/** The counters of decisions equal the ledger up to their position; of minutes, only those that rules may read. */
function counterQueries(): [what: string, sql: string][] {
  const row = (kind: string, scope: string, start: string, where: string) =>
    `SELECT '${kind}' AS kind, ${scope} AS scope, ${start} AS start, coalesce(cost_nano_usd, 0) AS cost, at, position
    FROM calls WHERE ${where}`;
  const costs = "cost_nano_usd <> 0";
  const scopes = [["''", costs], ["agent_id", costs], [
    "'key ' || key_id",
    `${costs} AND key_id IS NOT NULL`,
  ]];
  const minutes = "AND at >= (SELECT max(at) FROM calls) - 82800000";
  const all = [
    row("run", "run_id", "0", "run_id IS NOT NULL"),
    row("session", "session_id", "0", "session_id IS NOT NULL"),
    ...scopes.flatMap(([scope, where]) => [
      row("day", scope!, "at - at % 86400000", where!),
      row("lifetime", scope!, "0", where!),
      row("minute", scope!, "at - at % 60000", `${where} ${minutes}`),
    ]),
  ].join(" UNION ALL ");
  // Whole minutes only: the first of them may have begun before the range.
  const isWhole = "(kind <> 'minute' OR start >= (SELECT max(at) FROM calls) - 82800000)";
  const counted = (condition: string) =>
    `SELECT kind, scope, start, sum(cost / 1000000000) AS whole_usd, sum(cost % 1000000000) AS rest_nano_usd,
      min(at) AS first_at FROM (${all}) entries WHERE ${isWhole} AND ${condition} GROUP BY kind, scope, start`;
  const counters =
    `SELECT kind, scope, start, whole_usd, rest_nano_usd, first_at FROM spend_counters WHERE ${isWhole}`;
  const tail = `position > ${positionOf("decisions")}`;
  return [
    [
      "the counters of decisions are the sums of the ledger up to their position",
      difference(counters, counted(`position <= ${positionOf("decisions")}`)),
    ],
    [
      "the counters of decisions and the calls after them are the sums of the ledger",
      difference(
        `SELECT kind, scope, start, sum(whole_usd) AS whole_usd, sum(rest_nano_usd) AS rest_nano_usd,
          min(first_at) AS first_at FROM (${counters} UNION ALL ${
          counted(tail)
        }) counted GROUP BY kind, scope, start`,
        counted("true"),
      ),
    ],
  ];
}

/** No rollup is past the ledger's end, and there is one position of each kind. */
const POSITIONS = `SELECT name, position FROM rollup_positions
WHERE position > (SELECT coalesce(max(position), 0) FROM calls) OR position < 0
UNION ALL SELECT 'how many', n FROM (SELECT count(*) AS n FROM rollup_positions) positions WHERE n <> 2`;

const TOTALS_CHECKS: [what: string, sql: string][] = [
  ...totalsQueries(),
  ...entityQueries(),
  ...counterQueries(),
  ["no rollup is past the ledger's end", POSITIONS],
];

/** Every total, read in any way, is that of the ledger: at one moment, whatever other processes do meanwhile. */
export async function checkTotals(store: Store): Promise<void> {
  const results = await store.readAll(TOTALS_CHECKS.map(([, sql]) => ({ sql })));
  results.forEach((result, index) => assert.deepEqual(toObjects(result), [], TOTALS_CHECKS[index]![0]));
}

const ENDS = "('run.completed', 'run.failed', 'run.cancelled', 'run.interrupted', 'budget.exceeded')";

/** Further invariants: any row of these queries is a fault. */
const BOOK_CHECKS: [what: string, sql: string][] = [
  [
    "the log has each call once, and no other",
    `SELECT call_id FROM (SELECT call_id FROM calls WHERE adjusts IS NULL AND source IS DISTINCT FROM 'log'
      UNION ALL SELECT call_id FROM events WHERE type = 'cost.recorded') known GROUP BY call_id HAVING count(*) <> 2`,
  ],
  [
    "every session's events are numbered without a gap, and counted",
    `SELECT s.session_id FROM sessions s LEFT JOIN events e ON e.session_id = s.session_id
    GROUP BY s.session_id HAVING count(e.seq) <> s.event_count OR coalesce(max(e.seq), 0) <> s.event_count`,
  ],
  [
    "every session's messages are in order without a gap, and counted",
    `SELECT s.session_id FROM sessions s
    LEFT JOIN messages m ON m.session_id = s.session_id AND m.generation = s.generation
    GROUP BY s.session_id HAVING count(m.position) <> s.message_count OR coalesce(max(m.position), -1) <> s.message_count - 1`,
  ],
  [
    "a session that is in progress is so with a run that is",
    `SELECT s.session_id FROM sessions s LEFT JOIN runs r ON r.run_id = s.active_run_id
    WHERE (s.active_run_id IS NULL) = (s.status = 'running') OR (s.active_run_id IS NOT NULL AND r.status <> 'running')`,
  ],
  [
    "a session has one run in progress at most",
    "SELECT session_id FROM runs WHERE status = 'running' GROUP BY session_id HAVING count(*) > 1",
  ],
  [
    "the log has a run's start once, and its end at most once",
    `SELECT r.run_id, r.status FROM runs r LEFT JOIN events e ON e.run_id = r.run_id AND e.session_id = r.session_id
    GROUP BY r.run_id HAVING count(CASE WHEN e.type = 'run.started' THEN 1 END) <> 1
      OR count(CASE WHEN e.type IN ${ENDS} THEN 1 END) <> CASE WHEN r.status = 'running' THEN 0 ELSE 1 END`,
  ],
  [
    "a run has made as many steps as it has calls",
    `SELECT r.run_id, r.status, r.steps FROM runs r
    LEFT JOIN (SELECT run_id, sum(model_calls) AS calls FROM run_usage GROUP BY run_id) u ON u.run_id = r.run_id
    WHERE r.status IN ('completed', 'interrupted') AND r.steps <> coalesce(u.calls, 0)`,
  ],
  [
    "nothing is reserved for a run that has ended, and nothing for longer than a lease",
    `SELECT x.scope, x.expires_at FROM reservations x LEFT JOIN runs r ON 'run ' || r.run_id = x.scope
    WHERE r.status <> 'running' OR (x.is_lost = 0 AND x.expires_at > ${DATABASE_NOW} +
      CASE WHEN instr(x.reservation_id, '/') > 0 THEN 60000 ELSE 900000 END)`,
  ],
  [
    "an alert goes to a channel once",
    "SELECT subject_id FROM deliveries GROUP BY subject_id, channel HAVING count(*) > 1",
  ],
];

/**
 * Checks the invariants of any books, at any moment and whatever happened to the processes that keep them: all of it is
 * read in one snapshot. Returns the ledger's call ids.
 */
export async function checkBooks(store: Store): Promise<Set<string>> {
  const checks = [...TOTALS_CHECKS, ...BOOK_CHECKS];
  const results = await store.readAll([
    { sql: "SELECT call_id FROM calls WHERE adjusts IS NULL" },
    ...checks.map(([, sql]) => ({ sql })),
  ]);
  checks.forEach(([what], index) => assert.deepEqual(toObjects(results[index + 1]!), [], what));
  return new Set(results[0]!.rows.map(([callId]) => callId as string));
}

/** Checks what must hold once every dead process was recovered: nothing is left in progress. */
export async function checkAllEnded(store: Store): Promise<void> {
  for (
    const [what, sql] of [
      ["runs in progress", "SELECT count(*) FROM runs WHERE status = 'running'"],
      ["sessions in progress", "SELECT count(*) FROM sessions WHERE active_run_id IS NOT NULL"],
      ["reservations", "SELECT count(*) FROM reservations WHERE is_held = 0"],
      ["pending deliveries", "SELECT count(*) FROM deliveries WHERE status = 'pending'"],
    ] as const
  ) {
    assert.equal(Number((await store.read({ sql })).rows[0]![0]), 0, what);
  }
}

/** Invariants that only a fault could break. */
const SURVIVOR_CHECKS: [what: string, sql: string][] = [
  [
    "no reservation is past its lease and still counts",
    `SELECT reservation_id FROM reservations WHERE is_lost = 0 AND expires_at > ${DATABASE_NOW} +
      CASE WHEN instr(reservation_id, '/') > 0 THEN 60000 ELSE 900000 END`,
  ],
  [
    "a repricing in progress is the only one",
    "SELECT repricing_id FROM repricings WHERE status IN ('applying', 'undoing') AND in_progress IS NULL",
  ],
  [
    "a repricing counts the entries that it has made",
    `SELECT r.repricing_id FROM repricings r WHERE
      (SELECT count(*) FROM calls c WHERE substr(c.call_id, 1, length(r.repricing_id) + 1) = r.repricing_id || ':') <>
      (SELECT coalesce(sum(m.changed_calls), 0) FROM repricing_models m WHERE m.repricing_id = r.repricing_id)`,
  ],
  [
    "a document is restored once",
    `SELECT session_id FROM events WHERE type = 'session.restored'
    GROUP BY session_id, payload ->> 'event_log_count' HAVING count(*) > 1`,
  ],
];

/**
 * Checks what must hold after a fault beside `checkBooks()`: the file is whole, every alert has a delivery to each of the
 * channels, delivered or still due, and the acknowledged imports and repricings are there.
 */
export async function checkSurvivors(
  store: Store,
  { lines, channels }: {
    lines: readonly { alert?: string; imported?: number; repriced?: string }[];
    channels: readonly string[];
  },
): Promise<void> {
  if (store.engine === "sqlite") {
    const [integrity, foreignKeys] = await store.readAll(
      ["PRAGMA integrity_check", "PRAGMA foreign_key_check"].map((sql) => ({ sql })),
    );
    assert.deepEqual(integrity!.rows, [["ok"]], "the database is whole");
    assert.deepEqual(foreignKeys!.rows, []);
  }
  const results = await store.readAll([
    {
      sql: `SELECT a.alert_id FROM alerts a LEFT JOIN deliveries d ON d.subject_id = a.alert_id
        AND d.status IN ('pending', 'delivered')
      GROUP BY a.alert_id HAVING count(d.delivery_id) <> ?`,
      args: [channels.length],
    },
    { sql: "SELECT payload ->> 'event_log_count' FROM events WHERE type = 'session.restored'" },
    { sql: "SELECT repricing_id FROM repricings WHERE status = 'applied'" },
    { sql: "SELECT coalesce(sum(count), 0) FROM tallies WHERE what = 'alert'" },
    ...SURVIVOR_CHECKS.map(([, sql]) => ({ sql })),
  ]);
  const [undelivered, restored, applied, fired] = results.map(({ rows }) => rows);
  assert.deepEqual(undelivered, [], "every alert has its deliveries");
  const imports = new Set(restored!.map(([number]) => Number(number)));
  const repricings = new Set(applied!.map(([id]) => id));
  for (const { imported, repriced } of lines) {
    if (imported !== undefined) assert.ok(imports.has(imported), `document ${imported} was imported`);
    if (repriced !== undefined) assert.ok(repricings.has(repriced), `repricing ${repriced} was applied`);
  }
  const alerts = new Set(lines.flatMap(({ alert }) => alert ?? []));
  assert.ok(alerts.size <= Number(fired![0]![0]), "every published alert was fired");
  SURVIVOR_CHECKS.forEach(([what], index) => assert.deepEqual(toObjects(results[4 + index]!), [], what));
}
