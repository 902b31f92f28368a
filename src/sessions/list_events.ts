import { and, asc, eq, gt, lt, type SQL, sql } from "drizzle-orm";
import type { SessionEvent } from "../contract/events.ts";
import type { SessionEventType } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { toCostEvent, toModelCall, withAdjustments } from "../ledger/mod.ts";
import { type Store, tables } from "../store/mod.ts";
import type { SessionContext } from "./context.ts";

const { calls, events } = tables;

type Context = Pick<SessionContext, "query">;

/** The column by which a page is ordered. */
type Order = typeof events.seq | typeof events.eventId;

/** Lists a page of one session's log, by seq. Large events make it shorter than `limit`; it is empty only at the end. */
export function listSessionEvents(
  ctx: Context,
  input: { sessionId: string; after: number; limit: number },
): Promise<SessionEvent[]> {
  const where = and(eq(events.sessionId, input.sessionId), gt(events.seq, input.after))!;
  return selectEvents(ctx, where, events.seq, input.limit);
}

/** Lists a page of the log of all sessions, by its global position. */
export function listAllEvents(
  ctx: Context,
  input: { after: number; limit: number },
): Promise<SessionEvent[]> {
  return selectEvents(ctx, gt(events.eventId, input.after), events.eventId, input.limit);
}

/** The size limit of a page, unless a single event is larger: a libSQL server answers with at most 10 MB. */
const EVENT_PAGE_BYTES = 1024 * 1024;

/** The size of the event of a booked call, which has its payload in the ledger. */
const CALL_BYTES = 600;

/** Counts the rows that fit into a page. Reads the sizes of the payloads only. */
async function countFitting(ctx: Context, where: SQL, order: Order, limit: number): Promise<number> {
  const size = sql<number>`coalesce(octet_length(${events.payload}), ${CALL_BYTES})`;
  const rows = ctx.query.select({ order: order.getSQL().as("position"), size: size.as("size") }).from(events)
    .where(where).orderBy(asc(order)).limit(limit).as("page_rows");
  const sums = ctx.query.select({
    before: sql<
      number
    >`sum(${rows.size}) OVER (ORDER BY ${rows.order} ROWS UNBOUNDED PRECEDING) - ${rows.size}`.as("before"),
  }).from(rows).as("sums");
  const [row] = await ctx.query.select({ count: sql<bigint>`count(*)` }).from(sums).where(
    lt(sums.before, EVENT_PAGE_BYTES),
  );
  return Number(row?.count ?? 0);
}

async function selectEvents(ctx: Context, where: SQL, order: Order, limit: number): Promise<SessionEvent[]> {
  const fitting = await countFitting(ctx, where, order, limit);
  if (fitting === 0) return [];
  const rows = await ctx.query.select({ event: events, call: calls }).from(events)
    .leftJoin(calls, and(eq(events.type, "cost.recorded"), eq(calls.callId, events.callId)))
    .where(where).orderBy(asc(order)).limit(fitting);
  const booked = rows.flatMap(({ call }) => call ? [toModelCall(call)] : []);
  const adjusted = new Map((await withAdjustments(ctx.query, booked)).map((call) => [call.callId, call]));
  return rows.map(({ event, call }) => ({
    event_id: event.eventId,
    seq: event.seq,
    type: event.type as SessionEventType,
    at: toIso(event.at),
    agent_id: event.agentId,
    session_id: event.sessionId,
    run_id: event.runId,
    call_id: event.callId,
    payload: call ? { ...toCostEvent(adjusted.get(call.callId)!) } : event.payload ?? {},
  }));
}

/** Returns the position of the newest event in the log of all sessions; 0 for an empty log. */
export async function lastEventId(ctx: { store: Pick<Store, "read"> }): Promise<number> {
  const { rows } = await ctx.store.read({ sql: "SELECT max(event_id) FROM events" });
  return Number(rows[0]?.[0] ?? 0);
}
