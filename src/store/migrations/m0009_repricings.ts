/** Repricings: calls are priced again by today's prices, and the differences booked as entries with `adjusts`. */
export const statements: readonly string[] = [
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
];
