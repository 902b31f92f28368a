import { statements as ledger } from "./m0001_ledger.ts";
import { statements as alerts } from "./m0003_alerts.ts";
import * as positions from "./m0006_positions.ts";
import { statements as budgets } from "./m0011_budgets.ts";

/** One step of the schema. A released step is never edited: every database records its checksum. */
export interface Migration {
  version: number;
  name: string;
  /** Committed together, as the last commit of the step. */
  statements: readonly string[];
  /** Work that is too long for one commit: committed again and again, before `statements`, until `isDone` reads 1. */
  chunks?: { statements: readonly string[]; isDone: string };
}

/** Adds one to a count; `key` has its three columns. */
const ADD = (key: string) =>
  `INSERT INTO tallies (what, name, outcome, count) VALUES (${key}, 1)
  ON CONFLICT (what, name, outcome) DO UPDATE SET count = count + 1`;

/**
 * Every step, in order; long ones have a module of their own. Plain modules, so that a compiled binary and the edge bundle
 * include them.
 */
export const migrations: readonly Migration[] = [
  { version: 1, name: "ledger", statements: ledger },
  // Whole messages as canonical JSON, and the generations that snapshots are staged in.
  {
    version: 2,
    name: "snapshots",
    statements: [
      // Parts of a session's snapshot that nothing here reads, so that the next export has them again.
      `ALTER TABLE sessions ADD COLUMN extras TEXT`,

      // 1: content is the whole message, its id and time too, as canonical JSON; an export takes it as it is.
      `ALTER TABLE messages ADD COLUMN is_whole INTEGER NOT NULL DEFAULT 0`,

      // Generations that are no session's present state: staged for it, or replaced and perhaps still being read.
      `CREATE TABLE loose_generations (
  session_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  staged_by TEXT,
  since INTEGER NOT NULL,
  PRIMARY KEY (session_id, generation)
) WITHOUT ROWID`,

      // The log of another environment that came with a snapshot: history, and no part of this one's log.
      `CREATE TABLE imported_events (
  session_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  position INTEGER NOT NULL,
  content TEXT NOT NULL
)`,
      `CREATE UNIQUE INDEX imported_events_in_order ON imported_events (session_id, generation, position)`,
    ],
  },
  { version: 3, name: "alerts", statements: alerts },
  // Counts that only grow: of runs that have ended, alerts that have fired and deliveries that are settled. The rows they
  // count are too many to be counted again and again, or are gone after a while.
  {
    version: 4,
    name: "tallies",
    statements: [
      // run: name is its status. alert: its severity. delivery: its channel, and outcome is delivered or failed.
      `CREATE TABLE tallies (
  what TEXT NOT NULL,
  name TEXT NOT NULL,
  outcome TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (what, name, outcome)
) WITHOUT ROWID`,
      `INSERT INTO tallies SELECT 'run', status, '', count(*) FROM runs WHERE status <> 'running' GROUP BY status`,
      `INSERT INTO tallies SELECT 'alert', severity, '', count(*) FROM alerts WHERE is_test = 0 GROUP BY severity`,
      `INSERT INTO tallies SELECT 'delivery', channel, status, count(*) FROM deliveries
WHERE status <> 'pending' AND subject_id NOT IN (SELECT alert_id FROM alerts WHERE is_test = 1)
GROUP BY channel, status`,

      `CREATE TRIGGER runs_tally AFTER UPDATE OF status ON runs
WHEN NEW.status <> OLD.status AND NEW.status <> 'running'
BEGIN
  ${ADD("'run', NEW.status, ''")};
END`,
      `CREATE TRIGGER alerts_tally AFTER INSERT ON alerts WHEN NEW.is_test = 0
BEGIN
  ${ADD("'alert', NEW.severity, ''")};
END`,
      // A test's deliveries are not counted: their outcome is the answer to the test.
      `CREATE TRIGGER deliveries_tally AFTER UPDATE OF status ON deliveries
WHEN OLD.status = 'pending' AND NEW.status <> 'pending'
  AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.alert_id = NEW.subject_id AND a.is_test = 1)
BEGIN
  ${ADD("'delivery', NEW.channel, NEW.status")};
END`,
    ],
  },
  // Keys to the API. Their rows are never deleted: a database that ever had one requires a key.
  {
    version: 5,
    name: "api_keys",
    statements: [
      // hash is the SHA-256 of the key's secret part, in hex; the secret itself is nowhere. scopes is a JSON array.
      `CREATE TABLE api_keys (
  key_id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  scopes TEXT NOT NULL,
  agent_id TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  revoked_at INTEGER
) WITHOUT ROWID`,
      `CREATE INDEX api_keys_latest ON api_keys (created_at DESC, key_id DESC)`,
      `CREATE TRIGGER api_keys_refuse_delete BEFORE DELETE ON api_keys
BEGIN SELECT RAISE(ABORT, 'keys are revoked, never deleted'); END`,
    ],
  },
  { version: 6, name: "positions", statements: positions.statements },
  {
    version: 7,
    name: "calls_with_positions",
    chunks: { statements: positions.chunk, isDone: positions.isDone },
    statements: positions.removeOld,
  },
  // What a call keeps to be priced again: every billed part of its usage beyond text tokens, and how it was served.
  {
    version: 8,
    name: "billed_parts",
    statements: [
      // JSON by the wire's names: counts such as web_searches, speed, inference_geo, list_cost_nano_usd. Null for most calls.
      `ALTER TABLE calls ADD COLUMN details TEXT`,
    ],
  },
  // Repricings: calls are priced again by today's prices, and the differences booked as entries with `adjusts`.
  {
    version: 9,
    name: "repricings",
    statements: [
      // The entries that adjust a call, in the order of their positions.
      `CREATE INDEX calls_by_adjusted ON calls (adjusts) WHERE adjusts IS NOT NULL`,

      // Its entries have the ids 'repricing_id:call_id', those that undo it 'undo_id:call_id'. It covers the calls up to a
      // position, in the order of (at, position), and has come as far as the cursor. in_progress is 1 or NULL: of all
      // repricings one at most is being applied or undone.
      `CREATE TABLE repricings (
  position INTEGER PRIMARY KEY,
  repricing_id TEXT NOT NULL UNIQUE,
  undo_id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL,
  in_progress INTEGER UNIQUE,
  filter TEXT NOT NULL,
  up_to INTEGER NOT NULL,
  cursor_at INTEGER NOT NULL,
  cursor_position INTEGER NOT NULL,
  undo_cursor TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  applied_at INTEGER,
  undone_at INTEGER
)`,

      // What it has found, by model.
      `CREATE TABLE repricing_models (
  repricing_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  calls INTEGER NOT NULL,
  changed_calls INTEGER NOT NULL,
  unpriced_before INTEGER NOT NULL,
  unpriced_after INTEGER NOT NULL,
  partly_priced_before INTEGER NOT NULL,
  partly_priced_after INTEGER NOT NULL,
  whole_usd_before INTEGER NOT NULL,
  rest_nano_usd_before INTEGER NOT NULL,
  whole_usd_after INTEGER NOT NULL,
  rest_nano_usd_after INTEGER NOT NULL,
  PRIMARY KEY (repricing_id, provider, model)
) WITHOUT ROWID`,
    ],
  },
  // Claims: of requests that clients may send again under an `Idempotency-Key`, for a day, and of deliveries.
  {
    version: 10,
    name: "claims",
    statements: [
      // owner: the API key's id, '' without one. A request holds the claim until it ends or its lease does; result is the
      // answer, written in the commit of the effect. The answer of a run is the run itself: run_id is chosen with the claim,
      // and the run exists from its start on.
      `CREATE TABLE idempotency_keys (
  owner TEXT NOT NULL,
  operation TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  holder TEXT NOT NULL,
  instance_id TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  run_id TEXT,
  result TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (owner, operation, idempotency_key)
) WITHOUT ROWID`,
      `CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at)`,
      `CREATE INDEX idempotency_keys_by_lease ON idempotency_keys (lease_until, instance_id)`,
      // Claims whose process died, which are not among the attempts.
      `ALTER TABLE deliveries ADD COLUMN lost_claims INTEGER NOT NULL DEFAULT 0`,
    ],
  },
  { version: 11, name: "budgets", statements: budgets },
  // Tags of agents, runs and calls, by which costs are attributed to customers, teams, features, …
  {
    version: 12,
    name: "tags",
    statements: [
      `ALTER TABLE agents ADD COLUMN tags TEXT NOT NULL DEFAULT '{}'`,
      // JSON with sorted keys; null without any, as for most calls.
      `ALTER TABLE runs ADD COLUMN tags TEXT`,
      `ALTER TABLE calls ADD COLUMN tags TEXT`,
      `CREATE INDEX calls_by_tags ON calls (at) WHERE tags IS NOT NULL`,
    ],
  },
  // The models that an API key may call through the gateway: a JSON array of names and patterns; null for all.
  { version: 13, name: "gateway", statements: ["ALTER TABLE api_keys ADD COLUMN models TEXT"] },
  // Sessions of the dashboard. Each belongs to a key, and ends with it; a code makes one, once.
  {
    version: 14,
    name: "web_sessions",
    statements: [
      // hash is the SHA-256 of a random token of 256 bits, in hex, as that of keys.
      `CREATE TABLE web_sessions (
  hash TEXT PRIMARY KEY NOT NULL,
  key_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID`,
      "CREATE INDEX web_sessions_key ON web_sessions (key_id, last_used_at DESC)",
      `CREATE TABLE web_codes (
  hash TEXT PRIMARY KEY NOT NULL,
  key_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID`,
    ],
  },
  // Indexes of lists that would search whole tables: refused calls, and runs that didn't complete. They are partial, so that
  // an ordinary run or call writes to none of them.
  {
    version: 15,
    name: "overviews",
    statements: [
      `CREATE INDEX refusals_latest ON events (type) WHERE type = 'budget.refused'`,
      `CREATE INDEX refusals_of_agent ON events (agent_id) WHERE type = 'budget.refused'`,
      `CREATE INDEX runs_by_failure ON runs (status, started_at)
    WHERE status IN ('failed', 'budget_exceeded', 'cancelled', 'interrupted')`,
    ],
  },
  // Alerts name the newest entry of the ledger that their value holds; those of earlier versions don't.
  {
    version: 16,
    name: "alert_positions",
    statements: [
      "ALTER TABLE alerts ADD COLUMN call_position INTEGER",
    ],
  },
  // The list of sessions, latest first, reads those of its page and no others.
  {
    version: 17,
    name: "latest_sessions",
    statements: [
      `CREATE INDEX usage_sessions_updated ON usage_sessions (last_at DESC, session_id DESC)`,
    ],
  },
  // The cost that the provider of a call has stated, where another is booked; null for most calls. The reason is in details.
  {
    version: 18,
    name: "stated_costs",
    statements: [
      "ALTER TABLE calls ADD COLUMN stated_nano_usd INTEGER",
      "CREATE INDEX calls_by_stated ON calls (at) WHERE stated_nano_usd IS NOT NULL",
    ],
  },
  // Strict reservations are held until their calls are booked: is_held is 1 for those of this and later versions. The caller
  // of one that may be held, for its list, and of one that is made elsewhere.
  {
    version: 19,
    name: "held_reservations",
    statements: [
      "ALTER TABLE reservations ADD COLUMN is_held INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE reservations ADD COLUMN agent_id TEXT",
      "ALTER TABLE reservations ADD COLUMN session_id TEXT",
      "ALTER TABLE reservations ADD COLUMN key_id TEXT",
      // Append-only, as the raises of a budget. reservation_ids: what was released, as JSON.
      `CREATE TABLE budget_releases (
  release_id TEXT PRIMARY KEY NOT NULL,
  budget_id TEXT NOT NULL,
  reservation_ids TEXT NOT NULL,
  released_nano_usd INTEGER NOT NULL CHECK (typeof(released_nano_usd) = 'integer'),
  reason TEXT NOT NULL,
  key_id TEXT,
  created_at INTEGER NOT NULL
) WITHOUT ROWID`,
      `CREATE INDEX budget_releases_by_budget ON budget_releases (budget_id, created_at)`,
    ],
  },
  // Keys by their names: an alert names the key of its call, a key can get a new secret, and refused calls keep what only some
  // of the readers of the log may see.
  {
    version: 20,
    name: "names",
    statements: [
      "ALTER TABLE alerts ADD COLUMN key_id TEXT",
      // A secret that was replaced is accepted until previous_until; both null without one.
      "ALTER TABLE api_keys ADD COLUMN rotated_at INTEGER",
      "ALTER TABLE api_keys ADD COLUMN previous_hash TEXT",
      "ALTER TABLE api_keys ADD COLUMN previous_until INTEGER",
      "CREATE INDEX api_keys_by_name ON api_keys (name)",
      // JSON: of a refused call its key, and the payload with all amounts. No event on the wire has it.
      "ALTER TABLE events ADD COLUMN withheld TEXT",
    ],
  },
  // The keys that have overshot a strict budget at the gateway, by the counter and the time: see calls/overshoots.ts.
  {
    version: 21,
    name: "overshoots",
    statements: [
      `CREATE TABLE overshoots (
  budget_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  key_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (key_id, budget_id, scope, at)
) WITHOUT ROWID`,
    ],
  },
];
