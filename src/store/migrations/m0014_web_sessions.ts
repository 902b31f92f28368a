/** Sessions of the dashboard. Each belongs to a key, and ends with it; a code makes one, once. */
export const statements: readonly string[] = [
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
];
