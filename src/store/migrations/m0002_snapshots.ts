/** Whole messages as canonical JSON, and the generations that snapshots are staged in. */
export const statements: readonly string[] = [
  // What came with a session's snapshot and is nobody's here, so that the next export has it again.
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
];
