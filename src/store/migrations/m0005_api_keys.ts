/** Keys to the API. Their rows are never deleted: that there ever was one decides whether keys are asked for. */
export const statements: readonly string[] = [
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
];
