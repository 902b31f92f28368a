import { toCanonicalText } from "../canonical_json.ts";
import { toIso } from "../clock.ts";
import { LEASE_NOW, leaseNow } from "../sessions/mod.ts";
import type { Statement } from "../store/mod.ts";
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
const ADD_EVENTS = `INSERT INTO imported_events (session_id, generation, position, content)
SELECT ?1, ?2, 1 + ?4 + key, value FROM json_each(?5) WHERE ${IS_STAGED}`;

/** Takes a number for the generation that an import is about to stage. */
export async function openGeneration(ctx: SnapshotContext, sessionId: string): Promise<StagedGeneration> {
  const importId = ctx.ids.next("evt");
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
  await stage(ctx, staged, ADD_MESSAGES, snapshot.messages(), (text) => toMessageRow(ctx, text, exportedAt));
  await stage(ctx, staged, ADD_EVENTS, snapshot.events(), (text) => markImported(text, source));
}

/** Elements in commits of bounded size. */
async function stage<Row>(
  ctx: SnapshotContext,
  { sessionId, generation, importId }: StagedGeneration,
  sql: string,
  pages: ElementPages,
  toRow: (text: string) => Row,
): Promise<void> {
  const key = [sessionId, generation, importId];
  let position = 0;
  let rows: Row[] = [];
  let characters = 0;
  const commit = async () => {
    const statements: Statement[] = [{ sql, args: [...key, position, JSON.stringify(rows)] }];
    if (ctx.store.kind === "remote") statements.push({ sql: KEEP_ALIVE, args: [...key, leaseNow(ctx)] });
    position += rows.length;
    rows = [];
    characters = 0;
    await ctx.store.write(statements);
  };
  for await (const page of pages) {
    for (const text of page) {
      rows.push(toRow(text));
      characters += text.length;
      if (rows.length >= COMMIT_ROWS || characters >= COMMIT_CHARACTERS) await commit();
    }
  }
  if (rows.length > 0) await commit();
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
