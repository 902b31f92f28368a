import type { Store } from "./store.ts";

// The count changes a page: an UPDATE that changes nothing succeeds on a full disk. It is always the same row.
const PROBE = `INSERT INTO tallies (what, name, outcome, count) VALUES ('probe', '', '', 1)
ON CONFLICT DO UPDATE SET count = count + 1`;

/**
 * Commits a write that changes the database.
 *
 * @throws {PurserError} `unavailable` when the database accepts no writes
 */
export async function checkWritable(store: Pick<Store, "write">): Promise<void> {
  await store.write([{ sql: PROBE }]);
}

/**
 * The durability of commits: flushed to the disk before they are acknowledged (`full`), possibly lost at a power failure
 * (`normal`), or not reported by the server (`unknown`).
 */
export type CommitDurability = "full" | "normal" | "unknown";

// In a write transaction, which a replica forwards to the primary. sqld opens each connection with the value of its
// database's durability_mode (off 0, relaxed 1, strong 2, extra 3) and refuses to change it.
const READ_SYNCHRONOUS = { sql: "SELECT synchronous FROM pragma_synchronous" };

/**
 * Queries the durability of commits.
 *
 * @throws {PurserError} `unavailable` when it can't be reached
 */
export async function readDurability(store: Pick<Store, "write">): Promise<CommitDurability> {
  try {
    const [result] = await store.write([READ_SYNCHRONOUS]);
    const synchronous = result?.rows[0]?.[0];
    if (typeof synchronous !== "bigint") return "unknown";
    return synchronous >= 2n ? "full" : "normal";
  } catch (error) {
    if ((error as { code?: unknown }).code === "unavailable") throw error;
    return "unknown"; // the server doesn't support or allow the statement
  }
}

/**
 * Reads whether connections of a libSQL server checkpoint the WAL when they commit. Where several processes write, sqld
 * 0.24 may then give its write lock to a closed connection and answer no write until it is restarted. False where the
 * server checkpoints by itself, as with `--checkpoint-interval-s`, or doesn't report it.
 *
 * @throws {PurserError} `unavailable` when it can't be reached
 */
export async function checkpointsOnCommit(store: Pick<Store, "read">): Promise<boolean> {
  try {
    const { rows } = await store.read({ sql: "PRAGMA wal_autocheckpoint" });
    return Number(rows[0]?.[0] ?? 0) > 0;
  } catch (error) {
    if ((error as { code?: unknown }).code === "unavailable") throw error;
    return false; // the server doesn't support or allow the statement
  }
}
