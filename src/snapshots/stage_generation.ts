import { toCanonicalText } from "../canonical_json.ts";
import { toIso } from "../clock.ts";
import { LEASE_NOW, leaseNow } from "../sessions/mod.ts";
import type { SqlValue, Statement } from "../store/mod.ts";
import type { SnapshotContext } from "./context.ts";
import type { ElementPages } from "./document.ts";
import type { ReadSnapshot } from "./read_document.ts";

/** A generation that is being staged, and by which import. */
export interface StagedGeneration {
  sessionId: string;
  generation: number;
  importId: string;
}

/** A commit of staging holds the database only for a moment. */
const COMMIT_ROWS = 1_000;
const COMMIT_CHARACTERS = 1024 * 1024;
const LARGE_CHARACTERS = 256 * 1024;

const NOW = LEASE_NOW.replace("?", "?3");
// Past every number that was ever in use for the session, so that no other's rows are among them.
const OPEN = `INSERT INTO loose_generations (session_id, generation, staged_by, since)
SELECT ?1, 1 + max(
  coalesce((SELECT generation FROM sessions WHERE session_id = ?1), 1),
  coalesce((SELECT max(generation) FROM loose_generations WHERE session_id = ?1), 1)), ?2, ${NOW}`;
const READ_OPENED = "SELECT generation FROM loose_generations WHERE session_id = ? AND staged_by = ?";

/** True while the import may still be finished: nobody has taken it for dead. */
export const IS_STAGED =
  "EXISTS (SELECT 1 FROM loose_generations WHERE session_id = ?1 AND generation = ?2 AND staged_by = ?3)";

const KEEP_ALIVE = `UPDATE loose_generations SET since = ${LEASE_NOW.replace("?", "?4")}
WHERE session_id = ?1 AND generation = ?2 AND staged_by = ?3`;
const ADD_MESSAGES =
  `INSERT INTO messages (session_id, generation, position, message_id, created_at, content, is_whole)
SELECT ?1, ?2, ?4 + key, value ->> 0, value ->> 1, value ->> 2, 1 FROM json_each(?5) WHERE ${IS_STAGED}`;
const ADD_LARGE_MESSAGE =
  `INSERT INTO messages (session_id, generation, position, message_id, created_at, content, is_whole)
SELECT ?1, ?2, ?4, ?5, ?6, ?7, 1 WHERE ${IS_STAGED}`;
const ADD_EVENTS = `INSERT INTO imported_events (session_id, generation, position, content)
SELECT ?1, ?2, 1 + ?4 + key, value ->> 0 FROM json_each(?5) WHERE ${IS_STAGED}`;
const ADD_LARGE_EVENT = `INSERT INTO imported_events (session_id, generation, position, content)
SELECT ?1, ?2, 1 + ?4, ?5 WHERE ${IS_STAGED}`;

/** Takes a number for the generation that an import is about to stage. */
export async function openGeneration(
  ctx: SnapshotContext,
  sessionId: string,
  importId: string,
): Promise<StagedGeneration> {
  const results = await ctx.store.write([
    { sql: OPEN, args: [sessionId, importId, leaseNow(ctx)] },
    { sql: READ_OPENED, args: [sessionId, importId] },
  ]);
  return { sessionId, generation: Number(results[1]!.rows[0]![0]), importId };
}

/** Writes a snapshot's messages and events under a generation that nobody sees yet, in short commits. */
export async function stageGeneration(
  ctx: SnapshotContext,
  staged: StagedGeneration,
  snapshot: ReadSnapshot,
): Promise<void> {
  const { exported_at: exportedAt, source_environment: source } = snapshot.head;
  await stage(ctx, staged, snapshot.messages(), {
    many: ADD_MESSAGES,
    large: ADD_LARGE_MESSAGE,
    toRow: (text) => toMessageRow(ctx, text, exportedAt),
  });
  await stage(ctx, staged, snapshot.events(), {
    many: ADD_EVENTS,
    large: ADD_LARGE_EVENT,
    toRow: (text) => [markImported(text, source)],
  });
}

/** How one kind of element is written. */
interface Writing {
  /** Rows of a JSON array, from a position on. */
  many: string;
  /** One row by itself: as part of an array it would be escaped once more, past what a server takes. */
  large: string;
  toRow: (text: string) => SqlValue[];
}

/** Elements in commits of bounded size. */
async function stage(
  ctx: SnapshotContext,
  { sessionId, generation, importId }: StagedGeneration,
  pages: ElementPages,
  { many, large, toRow }: Writing,
): Promise<void> {
  const key = [sessionId, generation, importId];
  let position = 0;
  let rows: SqlValue[][] = [];
  let characters = 0;
  const commit = async (statement: Statement, count: number) => {
    position += count;
    const isShared = ctx.store.kind === "remote";
    await ctx.store.write(
      isShared ? [statement, { sql: KEEP_ALIVE, args: [...key, leaseNow(ctx)] }] : [statement],
    );
  };
  const commitRows = async () => {
    const args = [...key, position, JSON.stringify(rows)];
    const count = rows.length;
    rows = [];
    characters = 0;
    if (count > 0) await commit({ sql: many, args }, count);
  };
  for await (const page of pages) {
    for (const text of page) {
      const row = toRow(text);
      if (text.length > LARGE_CHARACTERS) {
        await commitRows();
        await commit({ sql: large, args: [...key, position, ...row] }, 1);
        continue;
      }
      rows.push(row);
      characters += text.length;
      if (rows.length >= COMMIT_ROWS || characters >= COMMIT_CHARACTERS) await commitRows();
    }
  }
  await commitRows();
}

/** A message without an id or a time gets one: the time of the export, which is the last it can be of. */
function toMessageRow(ctx: SnapshotContext, text: string, exportedAt: string): [string, number, string] {
  const message = JSON.parse(text) as { id?: string; created_at?: string };
  const { id = ctx.ids.next("msg"), created_at = toIso(Date.parse(exportedAt)) } = message;
  const isWhole = message.id !== undefined && message.created_at !== undefined;
  return [id, Date.parse(created_at), isWhole ? text : toCanonicalText({ ...message, id, created_at })];
}

/** What is the history of a third environment stays marked as that one's. */
function markImported(text: string, source: string): string {
  const event = JSON.parse(text) as { imported_from?: string };
  return event.imported_from === undefined ? toCanonicalText({ ...event, imported_from: source }) : text;
}
