import { toCanonicalText } from "../kernel/json/canonical_json.ts";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { type Store, toObjects } from "../store/mod.ts";
import type { SessionMessage } from "./session_message.ts";

/** The limits of a page of messages; the last message of a page may exceed the bytes. */
const PAGE_ROWS = 500;
const PAGE_BYTES = 128 * 1024;
/** Larger texts are read from a server in pieces: it answers with at most 10 MB. */
const PIECE_CHARACTERS = 1024 * 1024;

// SQLite reads the sizes from the headers of the rows; only contents that fit are read whole.
const READ_PAGE = `WITH sizes AS (
  SELECT rowid AS id, octet_length(content) AS size,
    sum(octet_length(content)) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - octet_length(content) AS before
  FROM messages WHERE session_id = ?1 AND generation = ?2 AND position >= ?3 AND position < ?4)
SELECT m.rowid AS id, m.message_id, m.created_at, m.is_whole, s.size,
  CASE WHEN s.size <= ?6 THEN m.content END AS content
FROM sizes s JOIN messages m ON m.rowid = s.id WHERE s.before < ?5 ORDER BY m.position`;
const READ_PIECE = "SELECT substr(content, ?2, ?3) FROM messages WHERE rowid = ?1";
const READ_EXTENT = "SELECT generation, message_count FROM sessions WHERE session_id = ?";

interface Row {
  id: bigint;
  message_id: string;
  created_at: bigint;
  is_whole: bigint;
  content: string | null;
}

/** A range of the messages of one generation of a session, [from, to). */
export interface MessageSpan {
  sessionId: string;
  generation: number;
  from?: number;
  to: number;
}

/**
 * Yields the messages of one generation in order as canonical JSON, in pages of bounded size.
 *
 * @throws {PurserError} `conflict` when the generation was replaced and swept meanwhile
 */
export async function* readMessageTexts(
  ctx: { store: Pick<Store, "kind" | "read"> },
  { sessionId, generation, from = 0, to }: MessageSpan,
): AsyncGenerator<string[]> {
  for (let position = from; position < to;) {
    const end = Math.min(to, position + PAGE_ROWS);
    const whole = ctx.store.kind === "remote" ? PAGE_BYTES : Number.MAX_SAFE_INTEGER;
    const args = [sessionId, generation, position, end, PAGE_BYTES, whole];
    const rows = toObjects<Row>(await ctx.store.read({ sql: READ_PAGE, args }));
    if (rows.length === 0) {
      throw new PurserError(
        "conflict",
        `Cannot read session ${sessionId} to its end: it was replaced by a restored one meanwhile; try again`,
      );
    }
    const page: string[] = [];
    for (const row of rows) page.push(wholeText(row, row.content ?? await readPieces(ctx.store, row.id)));
    yield page;
    position += page.length;
  }
}

/** Returns all messages of a session in order. */
export async function listMessages(
  ctx: { store: Pick<Store, "kind" | "read"> },
  sessionId: string,
): Promise<SessionMessage[]> {
  const extent = (await ctx.store.read({ sql: READ_EXTENT, args: [sessionId] })).rows[0];
  if (!extent) return [];
  const span = { sessionId, generation: Number(extent[0]), to: Number(extent[1]) };
  const messages: SessionMessage[] = [];
  for await (const page of readMessageTexts(ctx, span)) {
    for (const text of page) messages.push(JSON.parse(text));
  }
  return messages;
}

async function readPieces(store: Pick<Store, "read">, id: bigint): Promise<string> {
  const pieces: string[] = [];
  for (let start = 1;; start += PIECE_CHARACTERS) {
    const { rows } = await store.read({ sql: READ_PIECE, args: [id, start, PIECE_CHARACTERS] });
    const piece = rows[0]?.[0] as string ?? "";
    if (piece === "") return pieces.join("");
    pieces.push(piece);
  }
}

/** Completes the text of a message; before the second migration, messages were stored without id and time. */
function wholeText(row: Row, content: string): string {
  if (Number(row.is_whole) === 1) return content;
  return toCanonicalText({
    ...JSON.parse(content),
    id: row.message_id,
    created_at: toIso(Number(row.created_at)),
  });
}
