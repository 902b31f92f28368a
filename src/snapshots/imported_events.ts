import type { Store } from "../store/mod.ts";
import type { SnapshotEvent } from "./snapshot.ts";

/** Pages are small: an event may hold a large tool output. */
const PAGE_ROWS = 100;

const READ_PAGE = `SELECT position, content FROM imported_events
WHERE session_id = ? AND generation = ? AND position > ? ORDER BY position LIMIT ?`;
const READ_GENERATION = "SELECT generation FROM sessions WHERE session_id = ?";

/** An event of another environment's log, with its place in the history that came with a snapshot. */
export type ImportedEvent = SnapshotEvent & { position: number; imported_from: string };

/** The history that came with a session's snapshot, as canonical JSON. */
export async function* readImportedEventTexts(
  ctx: { store: Pick<Store, "read"> },
  { sessionId, generation }: { sessionId: string; generation: number },
): AsyncGenerator<string[]> {
  for (let after = 0;;) {
    const { rows } = await ctx.store.read({
      sql: READ_PAGE,
      args: [sessionId, generation, after, PAGE_ROWS],
    });
    if (rows.length > 0) yield rows.map((row) => row[1] as string);
    if (rows.length < PAGE_ROWS) return;
    after = Number(rows.at(-1)![0]);
  }
}

/** A part of the history that came with a session's snapshot; empty where none did. */
export async function listImportedEvents(
  ctx: { store: Pick<Store, "read"> },
  input: { sessionId: string; after: number; limit: number },
): Promise<ImportedEvent[]> {
  const { sessionId, after, limit } = input;
  const generation = (await ctx.store.read({ sql: READ_GENERATION, args: [sessionId] })).rows[0]?.[0];
  if (generation === undefined) return [];
  const { rows } = await ctx.store.read({ sql: READ_PAGE, args: [sessionId, generation, after, limit] });
  return rows.map(([position, content]) => ({
    position: Number(position),
    ...JSON.parse(content as string),
  }));
}
