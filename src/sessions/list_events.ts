import type { SessionEventType } from "../contract/values.ts";
import { and, asc, eq, gt, lt, type SQL, sql } from "drizzle-orm";
import { toIso } from "../kernel/clock.ts";
import { toCostEvent, toModelCall } from "../ledger/mod.ts";
import { type Query, tables } from "../store/mod.ts";
import type { SessionContext } from "./context.ts";
import type { SessionEvent } from "../contract/events.ts";
import { toCanonicalText } from "../kernel/json/canonical_json.ts";

const { calls, events } = tables;

/** Lists a page of one session's log, by seq. Large events make it shorter than `limit`; it is empty only at the end. */
export function listSessionEvents(
  ctx: Pick<SessionContext, "query">,
  input: { sessionId: string; after: number; limit: number },
): Promise<SessionEvent[]> {
  const where = and(eq(events.sessionId, input.sessionId), gt(events.seq, input.after))!;
  return selectEvents(ctx, where, events.seq, input.limit);
}

/** Lists a page of the log of all sessions, by its global position. */
export function listAllEvents(
  ctx: Pick<SessionContext, "query">,
  input: { after: number; limit: number },
): Promise<SessionEvent[]> {
  return selectEvents(ctx, gt(events.eventId, input.after), events.eventId, input.limit);
}

/** The size limit of a page, unless a single event is larger: a libSQL server answers with at most 10 MB. */
const PAGE_BYTES = 1024 * 1024;
/** The size of the event of a booked call, which has its payload in the ledger. */
const CALL_BYTES = 600;

/** Counts the rows that fit into a page. Reads the sizes of the payloads only. */
async function countFitting(
  ctx: Pick<SessionContext, "query">,
  where: SQL,
  order: typeof events.seq | typeof events.eventId,
  limit: number,
): Promise<number> {
  const size = sql<number>`coalesce(octet_length(${events.payload}), ${CALL_BYTES})`;
  const rows = ctx.query.select({ order: order.getSQL().as("position"), size: size.as("size") }).from(events)
    .where(where).orderBy(asc(order)).limit(limit).as("page_rows");
  const sums = ctx.query.select({
    before: sql<
      number
    >`sum(${rows.size}) OVER (ORDER BY ${rows.order} ROWS UNBOUNDED PRECEDING) - ${rows.size}`.as("before"),
  }).from(rows).as("sums");
  const [row] = await ctx.query.select({ count: sql<bigint>`count(*)` }).from(sums).where(
    lt(sums.before, PAGE_BYTES),
  );
  return Number(row?.count ?? 0);
}

async function selectEvents(
  ctx: Pick<SessionContext, "query">,
  where: SQL,
  order: typeof events.seq | typeof events.eventId,
  limit: number,
): Promise<SessionEvent[]> {
  const fitting = await countFitting(ctx, where, order, limit);
  if (fitting === 0) return [];
  const rows = await ctx.query.select({ event: events, call: calls }).from(events)
    .leftJoin(calls, and(eq(events.type, "cost.recorded"), eq(calls.callId, events.callId)))
    .where(where).orderBy(asc(order)).limit(fitting);
  return rows.map(({ event, call }) => ({
    event_id: event.eventId,
    seq: event.seq,
    type: event.type as SessionEventType,
    at: toIso(event.at),
    agent_id: event.agentId,
    session_id: event.sessionId,
    run_id: event.runId,
    call_id: event.callId,
    payload: call ? { ...toCostEvent(toModelCall(call)) } : event.payload ?? {},
  }));
}

/** Returns the position of the newest event in the log of all sessions; 0 for an empty log. */
export async function lastEventId(ctx: Pick<SessionContext, "store">): Promise<number> {
  const { rows } = await ctx.store.read({ sql: "SELECT max(event_id) FROM events" });
  return Number(rows[0]?.[0] ?? 0);
}

const PAGE_ROWS = 500;

/**
 * Yields the log of a session up to `lastSeq` as canonical JSON, in pages of bounded size. Omits `event_id`, which has no
 * meaning in another database.
 */
export async function* readEventTexts(
  ctx: { query: Query },
  { sessionId, lastSeq }: { sessionId: string; lastSeq: number },
): AsyncGenerator<string[]> {
  for (let after = 0; after < lastSeq;) {
    const limit = Math.min(PAGE_ROWS, lastSeq - after);
    const events = await listSessionEvents(ctx, { sessionId, after, limit });
    if (events.length === 0) throw new Error(`The log of session ${sessionId} has a gap after ${after}`);
    yield events.map(({ event_id: _eventId, ...event }) => toCanonicalText(event));
    after += events.length;
  }
}
