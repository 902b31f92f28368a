import { leaseNow, leaseTime } from "../../store/mod.ts";
import type { SnapshotContext } from "../context.ts";

/**
 * The generations that this process is reading for an export, and the imports that it is staging: they are not swept.
 * An import is identified by its id, which exists before its generation has a number.
 */
export class GenerationsInUse {
  #users = new Map<string, number>();

  has(use: string): boolean {
    return this.#users.has(use);
  }

  /** Registers a use; returns the function that ends it. */
  begin(use: string): () => void {
    this.#users.set(use, (this.#users.get(use) ?? 0) + 1);
    let isInUse = true;
    return () => {
      if (!isInUse) return;
      isInUse = false;
      const users = this.#users.get(use)! - 1;
      if (users === 0) this.#users.delete(use);
      else this.#users.set(use, users);
    };
  }
}

/** Returns the name of an export's use of a generation. */
export function exportUse(sessionId: string, generation: number): string {
  return `${generation}/${sessionId}`;
}

/** Replaced generations are kept this long on a shared database: another instance may be exporting them. */
const READ_FOR_MS = 3_600_000;
/** An import that has staged nothing for this long counts as dead. */
const STAGED_FOR_MS = 600_000;
const ROWS_PER_COMMIT = 2_000;

const LIST = `SELECT session_id, generation, staged_by,
  since <= ${leaseTime("?1")} - CASE WHEN staged_by IS NULL THEN ?2 ELSE ?3 END AS is_expired
FROM loose_generations`;
// From here on, an import that was only slow can't be finished.
const CLAIM = `UPDATE loose_generations SET staged_by = NULL WHERE session_id = ? AND generation = ?`;
// A loose generation may have become a session's current state since it was listed.
const IS_LOOSE = "EXISTS (SELECT 1 FROM loose_generations WHERE session_id = ?1 AND generation = ?2)";
const REMOVE = (table: string) =>
  `DELETE FROM ${table} WHERE ${IS_LOOSE} AND session_id = ?1 AND generation = ?2 AND position < ${ROWS_PER_COMMIT} + (
  SELECT min(position) FROM ${table} WHERE session_id = ?1 AND generation = ?2)`;
const COUNT_LEFT = `SELECT ${IS_LOOSE} AND (
  EXISTS (SELECT 1 FROM messages WHERE session_id = ?1 AND generation = ?2)
  OR EXISTS (SELECT 1 FROM imported_events WHERE session_id = ?1 AND generation = ?2))`;
const FORGET = "DELETE FROM loose_generations WHERE session_id = ? AND generation = ?";

/**
 * Removes the rows of replaced generations, and of those of dead imports, in short commits. On a shared database, they
 * are kept for a time, since other processes may be reading them.
 */
export async function sweepGenerations(
  ctx: Pick<SnapshotContext, "store" | "clock" | "generationsInUse">,
): Promise<void> {
  const { isShared } = ctx.store;
  const [readFor, stagedFor] = isShared ? [READ_FOR_MS, STAGED_FOR_MS] : [0, 0];
  // The clock may have been set back: in memory, every loose generation that is not in use here is expired.
  const now = isShared ? leaseNow(ctx) : Number.MAX_SAFE_INTEGER;
  const { rows } = await ctx.store.read({ sql: LIST, args: [now, readFor, stagedFor] });
  for (
    const [sessionId, generation, stagedBy, isExpired] of rows as [string, bigint, string | null, bigint][]
  ) {
    const { generationsInUse } = ctx;
    if (stagedBy !== null && generationsInUse.has(stagedBy)) continue;
    if (Number(isExpired) === 0 && !await isAbandoned(ctx, stagedBy)) continue;
    if (generationsInUse.has(exportUse(sessionId, Number(generation)))) continue;
    await removeGeneration(ctx, sessionId, Number(generation));
  }
}

/** Returns whether the import's instance is known to be gone. */
async function isAbandoned(
  { store }: Pick<SnapshotContext, "store">,
  stagedBy: string | null,
): Promise<boolean> {
  const instance = stagedBy?.split("/")[0];
  return instance !== undefined && await store.instances.isGone(instance);
}

/** Removes one generation that is not a session's current state. */
export async function removeGeneration(
  { store }: Pick<SnapshotContext, "store">,
  sessionId: string,
  generation: number,
): Promise<void> {
  const args = [sessionId, generation];
  await store.write([{ sql: CLAIM, args }]);
  for (;;) {
    const results = await store.write([
      { sql: REMOVE("messages"), args },
      { sql: REMOVE("imported_events"), args },
      { sql: COUNT_LEFT, args },
    ]);
    if (Number(results.at(-1)!.rows[0]![0]) === 0) break;
  }
  await store.write([{ sql: FORGET, args }]);
}
