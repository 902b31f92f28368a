import { toCanonicalText } from "../../kernel/json/canonical_json.ts";
import { readJson } from "../../kernel/json/read_json.ts";
import { inTurns } from "../../kernel/turns.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { leaseNow, leaseTime, type SqlValue, type Statement } from "../../store/mod.ts";
import type { SnapshotContext } from "../context.ts";
import type { ElementPages } from "../document/canonical_document.ts";
import type { ReadSnapshot } from "../document/read_document.ts";

/** A generation that an import is staging. */
export interface StagedGeneration {
  sessionId: string;
  generation: number;
  importId: string;
}

/** Limits of one commit, so that it holds the database only briefly. */
const COMMIT_ROWS = 1_000;

const COMMIT_CHARACTERS = 256 * 1024;

/** The units of work of staging a row, besides its text. */
const ROW_UNITS = 1_024;

/** Longer elements are read in slices. */
const LARGE_CHARACTERS = 64 * 1024;

/** The disk space that an import leaves free. */
const RESERVE_BYTES = 4 * 1024 * 1024;

// Greater than every number that was ever in use for the session, so that it has no other rows.
const OPEN = `INSERT INTO loose_generations (session_id, generation, staged_by, since)
SELECT ?1, 1 + max(
  coalesce((SELECT generation FROM sessions WHERE session_id = ?1), 1),
  coalesce((SELECT max(generation) FROM loose_generations WHERE session_id = ?1), 1)), ?2, ${
  leaseTime("?3")
}`;

const READ_OPENED = "SELECT generation FROM loose_generations WHERE session_id = ? AND staged_by = ?";

/** True while the import may still be finished: it has not been swept as dead. */
export const IS_STAGED =
  "EXISTS (SELECT 1 FROM loose_generations WHERE session_id = ?1 AND generation = ?2 AND staged_by = ?3)";

const KEEP_ALIVE = `UPDATE loose_generations SET since = ${leaseTime("?4")}
WHERE session_id = ?1 AND generation = ?2 AND staged_by = ?3`;

/** Rows per statement; the rest is inserted row by row. */
const ROWS_PER_STATEMENT = 32;

/** Adds rows while the generation is still being staged. */
interface AddRows {
  one: string;
  many: string;
}

const ADD_MESSAGES = addRows(
  4,
  (values) =>
    `INSERT INTO messages (session_id, generation, position, message_id, created_at, content, is_whole)
SELECT ?1, ?2, column1, column2, column3, column4, 1 FROM (VALUES ${values}) given WHERE ${IS_STAGED}`,
);

const ADD_EVENTS = addRows(
  2,
  (values) =>
    `INSERT INTO imported_events (session_id, generation, position, content)
SELECT ?1, ?2, 1 + column1, column2 FROM (VALUES ${values}) given WHERE ${IS_STAGED}`,
);

function addRows(columns: number, write: (values: string) => string): AddRows {
  return { one: write(placeholders(1, columns)), many: write(placeholders(ROWS_PER_STATEMENT, columns)) };
}

/** Returns the placeholders of rows; the first three parameters are the key. */
function placeholders(rows: number, columns: number): string {
  return Array.from({ length: rows }, (_, row) => {
    const numbers = Array.from({ length: columns }, (_, column) => `?${4 + row * columns + column}`);
    return `(${numbers.join(", ")})`;
  }).join(", ");
}

/** Allocates the number of the generation that an import is about to stage. */
export async function openGeneration(
  ctx: SnapshotContext,
  sessionId: string,
  importId: string,
): Promise<StagedGeneration> {
  await ctx.store.instances.hold(ctx.instanceId);
  const results = await ctx.store.write([
    { sql: OPEN, args: [sessionId, importId, leaseNow(ctx)] },
    { sql: READ_OPENED, args: [sessionId, importId] },
  ]);
  return { sessionId, generation: Number(results[1]!.rows[0]![0]), importId };
}

/** Writes a snapshot's messages and events under a generation that is not visible yet, in short commits. */
export async function stageGeneration(
  ctx: SnapshotContext,
  staged: StagedGeneration,
  snapshot: ReadSnapshot,
): Promise<void> {
  const { exported_at: exportedAt, source_environment: source } = snapshot.head;
  await stage(ctx, staged, snapshot.messages(), ADD_MESSAGES, (text) => toMessageRow(ctx, text, exportedAt));
  await stage(
    ctx,
    staged,
    snapshot.events(),
    ADD_EVENTS,
    async (text) => [await markImported(ctx, text, source)],
  );
}

/** Writes elements in commits of bounded size. */
async function stage(
  ctx: SnapshotContext,
  { sessionId, generation, importId }: StagedGeneration,
  pages: ElementPages,
  add: AddRows,
  toRow: (text: string) => SqlValue[] | Promise<SqlValue[]>,
): Promise<void> {
  const key = [sessionId, generation, importId];
  const { isShared } = ctx.store;
  let position = 0;
  let rows: SqlValue[][] = [];
  let characters = 0;
  let staged = 0;
  const commit = async () => {
    await checkFreeSpace(ctx, staged += characters, characters);
    const statements = addAll(add, key, rows);
    if (isShared) statements.push({ sql: KEEP_ALIVE, args: [...key, leaseNow(ctx)] });
    rows = [];
    characters = 0;
    await ctx.store.write(statements);
  };
  for await (const page of pages) {
    for (const text of page) {
      const turn = ctx.turns.spend(ROW_UNITS + Math.min(text.length, LARGE_CHARACTERS));
      if (turn) await turn;
      const row = toRow(text);
      rows.push([position++, ...row instanceof Promise ? await row : row]);
      characters += text.length;
      if (rows.length >= COMMIT_ROWS || characters >= COMMIT_CHARACTERS) await commit();
    }
  }
  if (rows.length > 0) await commit();
}

/**
 * Refuses to fill the disk completely, since staged rows could then not even be deleted: a deletion needs space for
 * about an eighth of the rows that it deletes.
 */
async function checkFreeSpace(ctx: SnapshotContext, staged: number, next: number): Promise<void> {
  const free = await ctx.store.freeBytes();
  if (free === undefined || free > RESERVE_BYTES + staged / 8 + 4 * next) return;
  throw new PurserError(
    "unavailable",
    `Cannot restore the session: the disk of the database has only ${
      Math.floor(free / 1e6)
    } MB left; free some space and try again`,
  );
}

function addAll(add: AddRows, key: readonly SqlValue[], rows: readonly SqlValue[][]): Statement[] {
  const statements: Statement[] = [];
  for (let start = 0; start < rows.length;) {
    const isMany = rows.length - start >= ROWS_PER_STATEMENT;
    const count = isMany ? ROWS_PER_STATEMENT : 1;
    statements.push({
      sql: isMany ? add.many : add.one,
      args: [...key, ...rows.slice(start, start + count).flat()],
    });
    start += count;
  }
  return statements;
}

/** Gives a message without an id or a time one: the time of the export, which is the latest possible. */
async function toMessageRow(
  ctx: SnapshotContext,
  text: string,
  exportedAt: string,
): Promise<[string, number, string]> {
  const message = await readRoot<{ id?: string; created_at?: string }>(ctx, text);
  const { id = ctx.ids.next("msg"), created_at = toIso(Date.parse(exportedAt)) } = message;
  const isWhole = message.id !== undefined && message.created_at !== undefined;
  return [id, Date.parse(created_at), isWhole ? text : await withFields(ctx, text, { id, created_at })];
}

/** Marks an event as imported; one of a third environment keeps its mark. */
async function markImported(ctx: SnapshotContext, text: string, source: string): Promise<string> {
  const event = await readRoot<{ imported_from?: string }>(ctx, text);
  return event.imported_from === undefined ? await withFields(ctx, text, { imported_from: source }) : text;
}

/** Returns the fields of an element; of their values perhaps a part only. */
async function readRoot<Fields>({ turns }: SnapshotContext, text: string): Promise<Fields> {
  if (text.length <= LARGE_CHARACTERS) return JSON.parse(text);
  const structure = { depth: 0, maxMembers: 10_000 };
  return (await inTurns(turns, readJson(text, { structure }))).value as Fields;
}

/** Adds the fields that an element lacks. */
async function withFields(
  { turns }: SnapshotContext,
  text: string,
  fields: Readonly<Record<string, string>>,
): Promise<string> {
  if (text.length <= LARGE_CHARACTERS) return toCanonicalText({ ...fields, ...JSON.parse(text) });
  const defaults = Object.entries(fields).map(([key, value]) => [key, JSON.stringify(value)]);
  return (await inTurns(turns, readJson(text, { defaults: Object.fromEntries(defaults) }))).text;
}
