/** How far the logs of agents have been imported. */
export const statements: readonly string[] = [
  // key_id: '' for imports into the database itself. read_to: the offset after the last line that was read. state: JSON of the
  // reader of this kind of log.
  `CREATE TABLE import_files (
  key_id TEXT NOT NULL,
  machine TEXT NOT NULL,
  agent TEXT NOT NULL,
  path TEXT NOT NULL,
  size INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  read_to INTEGER NOT NULL,
  head TEXT NOT NULL,
  is_ended INTEGER NOT NULL,
  state TEXT,
  PRIMARY KEY (key_id, machine, agent, path)
) WITHOUT ROWID`,
];
