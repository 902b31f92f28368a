import type { Bus } from "../bus/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { toPlainJsonText } from "../kernel/json/portable_json.ts";
import {
  type EachRow,
  IN_ROW_ORDER,
  ORDERED_JOIN,
  type SqlValue,
  type Statement,
  type Store,
} from "../store/mod.ts";
import type { RunRef } from "./context.ts";
import { findSessionOwner } from "./read_owners.ts";
import type { NewMessage } from "./session_message.ts";
import type { SessionEventType } from "../contract/values.ts";

/** An event to append to the log. `payload` is in wire form. */
export interface NewEvent {
  type: SessionEventType;
  /** The time of the event, in milliseconds since the epoch. */
  at: number;
  /** The call that `cost.recorded` refers to, whose payload is in the ledger. */
  callId?: string;
  payload?: Record<string, unknown>;
  /** Facts of a refused call for readers of all agents, which aren't a part of the event. */
  withheld?: Record<string, unknown> | undefined;
}

/** The events and messages of a run since its last commit. */
export interface Progress {
  events: readonly NewEvent[];
  messages: readonly NewMessage[];
}

/** An event to append. A call made elsewhere may have no session, or one that is not in this database. */
export interface EventToAppend {
  sessionId: string | null;
  runId: string | null;
  agentId: string;
  event: NewEvent;
}

/** Messages of a run to append to its session. */
export interface MessagesToAppend {
  sessionId: string;
  runId: string;
  messages: readonly NewMessage[];
}

/** One statement over all rows; no statement without rows. */
const forEach = (sql: string, form: Omit<EachRow, "rows">, rows: SqlValue[][]): Statement[] =>
  rows.length === 0 ? [] : [{ sql, each: { ...form, rows } }];

// The seq comes from the session's count at the commit, so that concurrent writers need no coordination.
const EVENT_ROWS = {
  columns: ["session_id", "nth", "run_id", "agent_id", "type", "at", "call_id", "payload", "withheld"],
  integers: ["nth", "at"],
};
const APPEND_EVENTS =
  `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, call_id, payload, withheld)
SELECT s.session_id, s.event_count + v.nth, v.run_id, v.agent_id, v.type, v.at, v.call_id, v.payload, v.withheld
FROM each_row v LEFT JOIN sessions s ON s.session_id = v.session_id ${IN_ROW_ORDER}`;

/**
 * Returns the statement that appends events to the log, numbered within their sessions where these exist. The same unit
 * must count them: see `countInSessions()`.
 */
export function appendEvents(events: readonly EventToAppend[]): Statement[] {
  const nth = counting();
  return forEach(
    APPEND_EVENTS,
    EVENT_ROWS,
    events.map(({ sessionId, runId, agentId, event: { type, at, callId, payload, withheld } }) => [
      sessionId,
      sessionId === null ? null : nth(sessionId),
      runId,
      agentId,
      type,
      at,
      callId ?? null,
      payload === undefined ? null : toPlainJsonText(payload),
      withheld === undefined ? null : toPlainJsonText(withheld),
    ]),
  );
}

const MESSAGE_ROWS = {
  columns: ["session_id", "run_id", "nth", "message_id", "created_at", "content"],
  integers: ["nth", "created_at"],
};
const APPEND_MESSAGES =
  `INSERT INTO messages (session_id, generation, position, message_id, run_id, created_at, content, is_whole)
SELECT s.session_id, s.generation, s.message_count + v.nth - 1, v.message_id, v.run_id, v.created_at, v.content, 1
FROM each_row v ${ORDERED_JOIN} sessions s ON s.session_id = v.session_id AND s.active_run_id = v.run_id`;

/** Returns the statement that appends messages to sessions that their run still holds. */
export function appendMessages(groups: readonly MessagesToAppend[]): Statement[] {
  const nth = counting();
  return forEach(
    APPEND_MESSAGES,
    MESSAGE_ROWS,
    groups.flatMap(({ sessionId, runId, messages }) =>
      messages.map(({ id, createdAt, text }) => [sessionId, runId, nth(sessionId), id, createdAt, text])
    ),
  );
}

const COUNT_ROWS = {
  columns: ["session_id", "events", "run_id", "messages"],
  integers: ["events", "messages"],
};
const COUNT = `UPDATE sessions SET event_count = event_count + v.events,
  message_count = message_count + CASE WHEN active_run_id IS NOT DISTINCT FROM v.run_id THEN v.messages ELSE 0 END
FROM each_row v WHERE sessions.session_id = v.session_id`;

/**
 * Returns the statement that adds the events and messages of a unit to the counts of their sessions. Each session may have
 * messages of one run only.
 */
export function countInSessions(
  events: readonly EventToAppend[],
  messages: readonly MessagesToAppend[],
): Statement[] {
  const counts = new Map<string, { events: number; runId: string | null; messages: number }>();
  const countOf = (sessionId: string) => {
    let count = counts.get(sessionId);
    if (!count) counts.set(sessionId, count = { events: 0, runId: null, messages: 0 });
    return count;
  };
  for (const { sessionId } of events) if (sessionId !== null) countOf(sessionId).events++;
  for (const { sessionId, runId, messages: { length } } of messages) {
    if (length === 0) continue;
    const count = countOf(sessionId);
    count.runId = runId;
    count.messages += length;
  }
  return forEach(
    COUNT,
    COUNT_ROWS,
    [...counts].map(([sessionId, count]) => [sessionId, count.events, count.runId, count.messages]),
  );
}

/** Numbers the occurrences of each key, from 1. */
function counting(): (key: string) => number {
  const counts = new Map<string, number>();
  return (key) => {
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count;
  };
}

/** Publishes the events of a run after their commit; `lastSeq` is the seq of the last one. */
export function publishEvents(
  ctx: { bus: Bus },
  run: RunRef,
  events: readonly NewEvent[],
  lastSeq: number,
): void {
  events.forEach((event, index) => {
    if (!ctx.bus.hasSubscribers(event.type)) return;
    ctx.bus.publish({
      type: event.type,
      at: toIso(event.at),
      agent_id: run.agentId,
      session_id: run.sessionId,
      run_id: run.runId,
      seq: lastSeq - (events.length - 1 - index),
      payload: event.payload ?? {},
    });
  });
}

/** Commits the events and messages of a run by themselves, and publishes the events. */
export async function commitProgress(
  ctx: { store: Pick<Store, "write">; bus: Bus },
  run: RunRef,
  progress: Progress,
): Promise<void> {
  const events = progress.events.map((event) => ({ ...run, event }));
  const messages = [{ ...run, messages: progress.messages }];
  const results = await ctx.store.write([
    ...appendEvents(events),
    ...appendMessages(messages),
    ...countInSessions(events, messages),
    { sql: "SELECT event_count FROM sessions WHERE session_id = ?", args: [run.sessionId] },
  ]);
  publishEvents(ctx, run, progress.events, Number(results.at(-1)!.rows[0]![0]));
}

/**
 * Returns the agent that owns a call's events in the log of its session: a key of that agent reads them. Null if the session
 * isn't that agent's own: then keys of two agents read them.
 */
export async function findLogOwner(
  ctx: { store: Store },
  { agentId, sessionId }: { agentId: string; sessionId: string | null },
): Promise<string | null> {
  return sessionId === null || await findSessionOwner(ctx, sessionId) === agentId ? agentId : null;
}
