/** The audit log: who has changed which limit, rule, key, agent or price, and when. Rows are only added. */
export const statements: readonly string[] = [
  // actor: see AUDIT_ACTORS. key_id: that of the key, or of the session's key. actor_name: the key's name then, or user@host.
  // address: the client's, as far as the server knew it. label: that of the file that was applied. kind and action: see AUDIT_KINDS and AUDIT_ACTIONS. before, after: JSON
  // of the fields that differ, in wire form; NULL where there is none.
  `CREATE TABLE audit_entries (
  position INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  key_id TEXT,
  actor_name TEXT,
  address TEXT,
  label TEXT,
  action TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  subject_name TEXT,
  before TEXT,
  after TEXT
)`,
  "CREATE INDEX audit_entries_by_subject ON audit_entries (subject_id)",
  "CREATE INDEX audit_entries_by_label ON audit_entries (label, subject_id) WHERE label IS NOT NULL",
  `CREATE TRIGGER audit_entries_refuse_update BEFORE UPDATE ON audit_entries
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
  `CREATE TRIGGER audit_entries_refuse_delete BEFORE DELETE ON audit_entries
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
];
