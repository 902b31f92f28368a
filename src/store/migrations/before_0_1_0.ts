/** The schema of a database from before 0.1.0 that can be upgraded. */
export interface EarlierSchema {
  version: number;
  /** The SHA-256 of its history: of "VERSION CHECKSUM" for each row of `purser_migrations`, joined by line breaks. */
  history: string;
  /** What the next version adds. */
  additions: readonly string[];
}

/** The commit whose program upgrades every database that is older than these to the first of them. */
export const UPGRADES_OLDER = "c62bf31d";

/** The schemas of commits from c62bf31d on until 0.1.0, in order: all additions from a database's own on make it 0.1.0's. */
export const EARLIER_SCHEMAS: readonly EarlierSchema[] = [
  {
    version: 17,
    history: "a485179930f3f28cc2df3d20a07bd786566a6966584b517938b5a4a4a022bb63",
    additions: [
      "ALTER TABLE calls ADD COLUMN stated_nano_usd INTEGER",
      "CREATE INDEX calls_by_stated ON calls (at) WHERE stated_nano_usd IS NOT NULL",
    ],
  },
  {
    version: 18,
    history: "d9b03500ab3a742d9a91cd025348d35c91986d27955b5528303a68aaf67b49fe",
    additions: [
      "ALTER TABLE reservations ADD COLUMN is_held INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE reservations ADD COLUMN agent_id TEXT",
      "ALTER TABLE reservations ADD COLUMN session_id TEXT",
      "ALTER TABLE reservations ADD COLUMN key_id TEXT",
      `CREATE TABLE budget_releases (
  release_id TEXT PRIMARY KEY NOT NULL,
  budget_id TEXT NOT NULL,
  reservation_ids TEXT NOT NULL,
  released_nano_usd INTEGER NOT NULL CHECK (typeof(released_nano_usd) = 'integer'),
  reason TEXT NOT NULL,
  key_id TEXT,
  created_at INTEGER NOT NULL
) WITHOUT ROWID`,
      "CREATE INDEX budget_releases_by_budget ON budget_releases (budget_id, created_at)",
    ],
  },
  {
    version: 19,
    history: "4fa4a72477054246642795d29576eec92fd49178520c651c7fc70184a77ff025",
    additions: [
      "ALTER TABLE alerts ADD COLUMN key_id TEXT",
      "ALTER TABLE api_keys ADD COLUMN rotated_at INTEGER",
      "ALTER TABLE api_keys ADD COLUMN previous_hash TEXT",
      "ALTER TABLE api_keys ADD COLUMN previous_until INTEGER",
      "CREATE INDEX api_keys_by_name ON api_keys (name)",
      "ALTER TABLE events ADD COLUMN withheld TEXT",
    ],
  },
  {
    version: 20,
    history: "50a310d98b0773d900d83f1d90a65beddcba2b7e56e909f5e007bb6bf3fa1c31",
    additions: [
      `CREATE TABLE overshoots (
  budget_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  key_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (key_id, budget_id, scope, at)
) WITHOUT ROWID`,
    ],
  },
  { version: 21, history: "5b5d78c6e339f7202f3c38722f7c0ccb1bd77021443092df6223e034805ae6fa", additions: [] },
];
