import type { Store } from "./store.ts";

// The count changes, and with it a page: an UPDATE that changes nothing succeeds on a full disk. It is one row for good.
const PROBE = `INSERT INTO tallies (what, name, outcome, count) VALUES ('probe', '', '', 1)
ON CONFLICT DO UPDATE SET count = count + 1`;

/**
 * Commits a write that changes the database, and so finds out whether it takes any.
 *
 * @throws {PurserError} `unavailable` when it does not
 */
export async function checkWritable(store: Pick<Store, "write">): Promise<void> {
  await store.write([{ sql: PROBE }]);
}
