/**
 * The windows of plans, such as subscriptions, as their providers have measured them: the latest measurement of each. And the
 * keys whose calls are refused before they spend a plan's paid credits.
 */
export const statements: readonly string[] = [
  // key_id: the API key that has reported it; '' for what this database's own gateway and imports have measured. owner: 'machine '
  // and its name, or 'provider ' and its name in the config. kind: the window as its source names it. used_basis_points: hundredths
  // of a percent; more than 10,000 where paid credits have gone on. said: JSON of the other fields, see src/plans/.
  `CREATE TABLE plan_windows (
  key_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  owner TEXT NOT NULL,
  kind TEXT NOT NULL,
  source TEXT NOT NULL,
  measured_at INTEGER NOT NULL,
  used_basis_points INTEGER,
  resets_at INTEGER,
  said TEXT NOT NULL,
  PRIMARY KEY (key_id, agent, owner, kind)
) WITHOUT ROWID`,
  `ALTER TABLE api_keys ADD COLUMN stop_before_credits INTEGER NOT NULL DEFAULT 0`,
];
