/**
 * Trees: a session with all its sub-agents.
 *
 * `calls.root_session_id` is the session at the root of the tree of a call, where that is not its own session: of a run that
 * another run has made, the session of the run above all. `spend_shapes.has_tree`: the shape looks at the tree.
 */
export const statements: readonly string[] = [
  `ALTER TABLE calls ADD COLUMN root_session_id TEXT`,
  `CREATE INDEX calls_by_root_session ON calls (root_session_id) WHERE root_session_id IS NOT NULL`,
  `ALTER TABLE spend_shapes ADD COLUMN has_tree INTEGER NOT NULL DEFAULT 0`,
];
