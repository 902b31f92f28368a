/**
 * Budgets of any subject: tags, models, providers and sources, also several together.
 *
 * A row of `spend_shapes` is a list of parts of a call by which budgets count: while there is a budget with it, `spend_counters` has
 * counters of its scopes, 'by SHAPE VALUE ...': see src/ledger/scopes/subjects.ts. is_filled: 0 within the unit that adds it.
 */
export const statements: readonly string[] = [
  `CREATE TABLE spend_shapes (
  shape TEXT PRIMARY KEY NOT NULL,
  has_agent INTEGER NOT NULL,
  has_session INTEGER NOT NULL,
  has_key INTEGER NOT NULL,
  has_model INTEGER NOT NULL,
  has_provider INTEGER NOT NULL,
  has_source INTEGER NOT NULL,
  pattern TEXT,
  tag_1 TEXT,
  tag_2 TEXT,
  tag_3 TEXT,
  tag_4 TEXT,
  is_filled INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID`,
  // The shape of the counters of a budget that has many; null where they are those of agents, sessions, keys or runs.
  `ALTER TABLE budgets ADD COLUMN shape TEXT`,
  // The counter that a raise is for; null for all of them.
  `ALTER TABLE budget_raises ADD COLUMN scope TEXT`,
];
