/** Budgets over agents, sessions, keys and all calls; reservations that count in any of their windows. */
export const statements: readonly string[] = [
  // scope: the calls that it counts, as in spend_counters: '' for all, an agent, 'session ' and an id, 'key ' and an id.
  // each: one counter for each agent, session or key within the scope. warn_at: shares of the limit, as JSON.
  `CREATE TABLE budgets (
  budget_id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  limit_nano_usd INTEGER NOT NULL CHECK (typeof(limit_nano_usd) = 'integer'),
  per TEXT NOT NULL,
  scope TEXT NOT NULL,
  each TEXT,
  mode TEXT NOT NULL,
  action TEXT NOT NULL,
  warn_at TEXT NOT NULL,
  counts_from INTEGER,
  allow_unpriced INTEGER NOT NULL,
  enabled INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  refused_calls INTEGER NOT NULL DEFAULT 0,
  last_refused_at INTEGER
) WITHOUT ROWID`,
  // Those that a call is counted in, without the others; and whether there are any of a kind.
  `CREATE INDEX budgets_enabled ON budgets (scope, per) WHERE enabled = 1`,
  `CREATE INDEX budgets_strict ON budgets (mode, action) WHERE enabled = 1`,

  // Append-only: limits are raised for a time, and who did it is kept. until: null for no end.
  `CREATE TABLE budget_raises (
  raise_id TEXT PRIMARY KEY NOT NULL,
  budget_id TEXT NOT NULL,
  extra_nano_usd INTEGER NOT NULL CHECK (typeof(extra_nano_usd) = 'integer'),
  until INTEGER,
  reason TEXT,
  key_id TEXT,
  created_at INTEGER NOT NULL
) WITHOUT ROWID`,
  `CREATE INDEX budget_raises_by_budget ON budget_raises (budget_id, created_at)`,

  // One row for each scope of a call in flight that has a budget: those of budgets, and 'run ' and an id. at: the time
  // under which the call will be booked. worst: its bound, which strict budgets count; estimate: what others count.
  // headroom: what all calls together may cost, after a total of spent, before a budget of this one is near a limit. A
  // lost one has no call any more: its count never came. strictness: 1 with a strict budget that watches, 2 with one that
  // refuses.
  `DROP TRIGGER IF EXISTS reserve_call`,
  `DROP VIEW IF EXISTS reservation_requests`,
  `DROP TABLE reservations`,
  `CREATE TABLE reservations (
  scope TEXT NOT NULL,
  at INTEGER NOT NULL,
  reservation_id TEXT NOT NULL,
  worst_nano_usd INTEGER NOT NULL,
  estimate_nano_usd INTEGER NOT NULL,
  strictness INTEGER NOT NULL DEFAULT 0,
  spent_nano_usd INTEGER NOT NULL DEFAULT 0,
  headroom_nano_usd INTEGER NOT NULL DEFAULT 0,
  is_lost INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (scope, at, reservation_id)
) WITHOUT ROWID`,
  `CREATE INDEX reservations_by_id ON reservations (reservation_id)`,

  // The children of a run count under its budgets.
  `CREATE INDEX runs_by_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL`,

  // The limit of the budget that an alert warns of; null for an alert of a rule.
  `ALTER TABLE alerts ADD COLUMN budget_limit_nano_usd INTEGER`,
];
