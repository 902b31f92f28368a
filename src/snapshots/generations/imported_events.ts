import type { ImportedEvent } from "../../contract/snapshot/snapshots.ts";
import type { Turns } from "../../kernel/turns.ts";
import type { Store } from "../../store/mod.ts";

/** The maximum size of a page, except for a single larger event: a libSQL server's answers are limited to 10 MB. */
const PAGE_BYTES = 1024 * 1024;
const PAGE_ROWS = 500;

// SQLite reads the sizes from the headers of the rows, but the window would copy whatever row it sees: so it sees the sizes alone,
// and only contents that fit are read.
const READ_PAGE = `WITH sizes AS MATERIALIZED (
  SELECT position, octet_length(content) AS size FROM imported_events
  WHERE session_id = ?1 AND generation = ?2 AND position > ?3 ORDER BY position LIMIT ?4),
page AS (SELECT position, sum(size) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - size AS before FROM sizes)
SELECT position, content FROM imported_events WHERE session_id = ?1 AND generation = ?2 AND position > ?3
  AND position <= (SELECT max(position) FROM page WHERE before < ${PAGE_BYTES}) ORDER BY position`;
const READ_GENERATION = "SELECT generation FROM sessions WHERE session_id = ?";

/** Reads the imported history of a session as canonical JSON. */
export async function* readImportedEventTexts(
  ctx: { store: Pick<Store, "read">; turns?: Turns },
  { sessionId, generation }: { sessionId: string; generation: number },
): AsyncGenerator<string[]> {
  for (let after = 0;;) {
    const { rows } = await ctx.store.read({
      sql: READ_PAGE,
      args: [sessionId, generation, after, PAGE_ROWS],
    });
    if (rows.length === 0) return;
    const page = rows.map((row) => row[1] as string);
    await ctx.turns?.spend(page.reduce((units, text) => units + text.length, 0));
    yield page;
    after = Number(rows.at(-1)![0]);
  }
}

/**
 * Lists a page of the imported history of a session; empty at its end. Large events make it shorter than `limit`.
 */
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
