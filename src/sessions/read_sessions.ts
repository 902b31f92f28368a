import { readWaitingFor } from "./list_runs.ts";
import { Buffer } from "node:buffer";
import type { Run } from "../contract/runs.ts";
import type { Session } from "../contract/sessions.ts";
import { and, eq } from "drizzle-orm";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { readRunUsage, readSessionModels, readSessionUsage, type TokenUsage } from "../ledger/mod.ts";
import { toUsd } from "../kernel/money.ts";
import type { Turns } from "../kernel/turns.ts";
import {
  newestFirst,
  type Query,
  type SqlValue,
  type Store,
  tables,
  type TimePosition,
  toObjects,
} from "../store/mod.ts";
import type { SessionContext } from "./context.ts";
import { listSessionEvents } from "./list_events.ts";
import { listReportedSessions, readReportedSession } from "./reported_sessions.ts";
import { toCanonicalText } from "../kernel/json/canonical_json.ts";
import type { SessionMessage } from "./session_message.ts";

const { runs, sessions } = tables;

export type ReadContext = Pick<SessionContext, "query"> & {
  store: Pick<SessionContext["store"], "read" | "readLong">;
};

/** A page of the list of sessions. */
export interface SessionList {
  agentId?: string;
  limit: number;
  /** The last row of the previous page. */
  before?: TimePosition | undefined;
  /** Without those that are known from reported calls alone. */
  isStored?: boolean;
}

const LIST = newestFirst(sessions.updatedAt, sessions.sessionId);

/** Lists sessions, latest first: stored ones, and those that are known from reported calls alone. */
export async function listSessions(ctx: ReadContext, input: SessionList): Promise<Session[]> {
  const { agentId, before, limit } = input;
  const rows = await ctx.query.select().from(sessions).where(and(
    agentId === undefined ? undefined : eq(sessions.agentId, agentId),
    LIST.from(before),
  )).orderBy(...LIST.order).limit(limit);
  const [usage, waiting] = await Promise.all([
    readSessionUsage(ctx.store, rows.map((row) => row.sessionId)),
    readWaitingFor(ctx, rows.flatMap((row) => row.activeRunId ?? [])),
  ]);
  const stored = rows.map((row) => toSession(row, usage.get(row.sessionId)!, waiting));
  if (input.isStored) return stored;
  // Earlier ones are on later pages.
  const since = rows.length < limit ? 0 : rows.at(-1)!.updatedAt;
  const reported = await listReportedSessions(ctx, { agentId, limit, before, since });
  if (reported.length === 0) return stored;
  const key = ({ updated_at, session_id }: Session) => updated_at + session_id;
  return [...stored, ...reported].sort((a, b) => key(a) < key(b) ? 1 : -1).slice(0, limit);
}

/**
 * Returns one session with the models that it has called; one that is known from reported calls alone has no state. Throws
 * `not_found`.
 */
export async function getSession(ctx: ReadContext, sessionId: string): Promise<Session> {
  const [row] = await ctx.query.select().from(sessions).where(eq(sessions.sessionId, sessionId));
  const session = row
    ? toSession(
      row,
      (await readSessionUsage(ctx.store, [sessionId])).get(sessionId)!,
      await readWaitingFor(ctx, row.activeRunId === null ? [] : [row.activeRunId]),
    )
    : await readReportedSession(ctx, sessionId);
  if (!session) throw new PurserError("not_found", `Cannot find session ${sessionId}`);
  return { ...session, models: await readSessionModels(ctx.store, sessionId) };
}

/** Returns one run. Throws `not_found`. */
export async function getRun(ctx: ReadContext, runId: string): Promise<Run> {
  const [row] = await ctx.query.select().from(runs).where(eq(runs.runId, runId));
  if (!row) throw runNotFound(runId);
  const [usage, waiting] = await Promise.all([
    readRunUsage(ctx.store, runId),
    readWaitingFor(ctx, row.status === "running" ? [runId] : []),
  ]);
  const waitingFor = waiting.get(runId);
  return {
    run_id: row.runId,
    agent_id: row.agentId,
    session_id: row.sessionId,
    model: row.model,
    status: row.status,
    output: row.output,
    error: row.error,
    steps: row.endedAt === null ? usage.model_calls : row.steps,
    cost_budget_usd: row.costBudgetNanoUsd === null ? null : toUsd(row.costBudgetNanoUsd),
    budget_mode: row.budgetMode,
    ...(row.parentRunId !== null && { parent_run_id: row.parentRunId }),
    ...(row.tags && { tags: row.tags }),
    ...(waitingFor !== undefined && { waiting_for: waitingFor }),
    token_usage: usage,
    started_at: toIso(row.startedAt),
    ended_at: row.endedAt === null ? null : toIso(row.endedAt),
  };
}

/** Returns the error for an unknown run. */
export function runNotFound(runId: string): PurserError {
  return new PurserError("not_found", `Cannot find run ${runId}`);
}

function toSession(
  row: typeof sessions.$inferSelect,
  usage: TokenUsage,
  waiting: ReadonlyMap<string, string>,
): Session {
  const waitingFor = waiting.get(row.activeRunId ?? "");
  return {
    session_id: row.sessionId,
    agent_id: row.agentId,
    status: row.status,
    message_count: row.messageCount,
    event_log_count: row.eventCount,
    token_usage: usage,
    tags: row.tags,
    ...(row.restoredFrom && { restored_from: row.restoredFrom }),
    active_run_id: row.activeRunId,
    ...(waitingFor !== undefined && { waiting_for: waitingFor }),
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}

/** The limits of a page of messages; the last message of a page may exceed the bytes. */
const MESSAGE_PAGE_ROWS = 500;

const MESSAGE_PAGE_BYTES = 128 * 1024;

/** Larger texts are read from a server in pieces: it answers with at most 10 MB. */
const PIECE_CHARACTERS = 1024 * 1024;

// SQLite reads the sizes from the headers of the rows, but the window would copy whatever row it sees: so it sees the sizes
// alone, and only contents that fit are read.
const READ_PAGE = `WITH sizes AS MATERIALIZED (
  SELECT position, octet_length(content) AS size
  FROM messages WHERE session_id = ?1 AND generation = ?2 AND position >= ?3 AND position < ?4),
page AS (SELECT position, sum(size) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - size AS before FROM sizes)
SELECT position, octet_length(content) AS size, message_id, created_at, is_whole,
  CASE WHEN octet_length(content) <= ?6 THEN content END AS content
FROM messages WHERE session_id = ?1 AND generation = ?2 AND position >= ?3
  AND position <= (SELECT max(position) FROM page WHERE before < ?5) ORDER BY position`;

/** The units of work of looking for a page, and of reading a message besides its text. */
const PAGE_UNITS = 128 * 1024;
const MESSAGE_UNITS = 256;

const READ_PIECE =
  "SELECT substr(content, ?4, ?5) FROM messages WHERE session_id = ?1 AND generation = ?2 AND position = ?3";

const READ_EXTENT = "SELECT generation, message_count FROM sessions WHERE session_id = ?";

interface Row {
  position: bigint;
  size: bigint;
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
  /** More bytes of messages than these are refused before they are read. */
  maxBytes?: number;
}

/**
 * Yields the messages of one generation in order as canonical JSON, in pages of bounded size.
 *
 * @throws {PurserError} `conflict` when the generation was replaced and swept meanwhile; `too_large` past `maxBytes`
 */
export async function* readMessageTexts(
  ctx: { store: Pick<Store, "kind" | "read">; turns?: Turns },
  { sessionId, generation, from = 0, to, maxBytes = Number.MAX_SAFE_INTEGER }: MessageSpan,
): AsyncGenerator<string[]> {
  const whole = ctx.store.kind === "remote" ? MESSAGE_PAGE_BYTES : maxBytes;
  let bytes = 0;
  for (let position = from; position < to;) {
    const end = Math.min(to, position + MESSAGE_PAGE_ROWS);
    const args = [sessionId, generation, position, end, MESSAGE_PAGE_BYTES, whole];
    if (position > from) await ctx.turns?.spend(PAGE_UNITS);
    const rows = toObjects<Row>(await ctx.store.read({ sql: READ_PAGE, args }));
    if (rows.length === 0) {
      throw new PurserError(
        "conflict",
        `Cannot read session ${sessionId} to its end: it was replaced by a restored one meanwhile; try again`,
      );
    }
    const page: string[] = [];
    let units = 0;
    for (const row of rows) {
      bytes += Number(row.size);
      if (bytes > maxBytes) throw tooLong(sessionId, maxBytes);
      const text = wholeText(
        row,
        row.content ?? await readPieces(ctx.store, [sessionId, generation, row.position]),
      );
      page.push(text);
      units += MESSAGE_UNITS + text.length;
    }
    await ctx.turns?.spend(units);
    yield page;
    position += page.length;
  }
}

const READ_BYTES = `SELECT coalesce(sum(octet_length(m.content)), 0)
FROM sessions s JOIN messages m ON m.session_id = s.session_id AND m.generation = s.generation WHERE s.session_id = ?`;

/** Returns the size of a session's messages in bytes of JSON; 0 for an unknown session. */
export async function readMessageBytes(
  { store }: { store: Pick<Store, "read"> },
  sessionId: string,
): Promise<number> {
  return Number((await store.read({ sql: READ_BYTES, args: [sessionId] })).rows[0]![0]);
}

function tooLong(sessionId: string, maxBytes: number): PurserError {
  return new PurserError(
    "too_large",
    `Cannot read session ${sessionId} for a run: its messages have more than the ${maxBytes} bytes that ` +
      "max_context_bytes in the config leaves them; start a new session, or allow more",
  );
}

/**
 * Returns all messages of a session in order, and their size in bytes of JSON; reads a long one in turn with other work.
 *
 * @throws {PurserError} `too_large` if they have more than `maxBytes`
 */
export async function readMessages(
  ctx: { store: Pick<Store, "kind" | "read">; turns?: Turns },
  sessionId: string,
  { maxBytes }: Pick<MessageSpan, "maxBytes"> = {},
): Promise<{ messages: SessionMessage[]; bytes: number }> {
  const extent = (await ctx.store.read({ sql: READ_EXTENT, args: [sessionId] })).rows[0];
  if (!extent) return { messages: [], bytes: 0 };
  const span = { sessionId, generation: Number(extent[0]), to: Number(extent[1]), maxBytes };
  const messages: SessionMessage[] = [];
  let bytes = 0;
  for await (const page of readMessageTexts(ctx, span)) {
    for (const text of page) {
      messages.push(JSON.parse(text));
      bytes += Buffer.byteLength(text);
      const turn = ctx.turns?.spend(MESSAGE_UNITS + text.length);
      if (turn) await turn;
    }
  }
  return { messages, bytes };
}

async function readPieces(store: Pick<Store, "read">, key: readonly SqlValue[]): Promise<string> {
  const pieces: string[] = [];
  for (let start = 1;; start += PIECE_CHARACTERS) {
    const { rows } = await store.read({ sql: READ_PIECE, args: [...key, start, PIECE_CHARACTERS] });
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

const EVENT_PAGE_ROWS = 500;

/**
 * Yields the log of a session up to `lastSeq` as canonical JSON, in pages of bounded size. Omits `event_id`, which has no
 * meaning in another database.
 */
export async function* readEventTexts(
  ctx: { query: Query; turns?: Turns },
  { sessionId, lastSeq }: { sessionId: string; lastSeq: number },
): AsyncGenerator<string[]> {
  for (let after = 0; after < lastSeq;) {
    const limit = Math.min(EVENT_PAGE_ROWS, lastSeq - after);
    if (after > 0) await ctx.turns?.spend(PAGE_UNITS);
    const page = await readPageOfEvents(ctx, { sessionId, after, limit });
    if (page.length === 0) throw new Error(`The log of session ${sessionId} has a gap after ${after}`);
    await ctx.turns?.spend(page.reduce((units, text) => units + MESSAGE_UNITS + text.length, 0));
    yield page;
    after += page.length;
  }
}

/** A function of its own, so that nothing but the texts is kept while they are written. */
async function readPageOfEvents(
  ctx: { query: Query },
  input: { sessionId: string; after: number; limit: number },
): Promise<string[]> {
  const events = await listSessionEvents(ctx, input);
  return events.map(({ event_id: _eventId, ...event }) => toCanonicalText(event));
}
