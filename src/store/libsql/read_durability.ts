import type { Store } from "../store.ts";

/**
 * Whether a commit is on the disk when it is answered (`full`), may be lost at a power cut (`normal`), or whether the
 * server doesn't tell (`unknown`).
 */
export type CommitDurability = "full" | "normal" | "unknown";

// In a write transaction: a replica hands that to the primary, which is the one that commits. sqld opens each connection
// with what its database's durability_mode stands for (off 0, relaxed 1, strong 2, extra 3) and refuses to have it set.
const READ = { sql: "SELECT synchronous FROM pragma_synchronous" };

/**
 * Asks the database how durable its commits are.
 *
 * @throws {PurserError} `unavailable` when it can't be reached
 */
export async function readDurability(store: Pick<Store, "write">): Promise<CommitDurability> {
  try {
    const [result] = await store.write([READ]);
    const synchronous = result?.rows[0]?.[0];
    if (typeof synchronous !== "bigint") return "unknown";
    return synchronous >= 2n ? "full" : "normal";
  } catch (error) {
    if ((error as { code?: unknown }).code === "unavailable") throw error;
    return "unknown"; // it knows no such statement, or doesn't allow it
  }
}
