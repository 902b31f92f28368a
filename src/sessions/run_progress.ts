import type { NanoUsd } from "../money.ts";
import { leaseNow, leaseTime, type ResultSet, type Statement, toObjects } from "../store/mod.ts";
import { type EventPlace, insertEvents } from "./insert_events.ts";
import { RUN_LEASE_MS, type SessionContext } from "./context.ts";
import type { NewEvent } from "./session_event.ts";
import type { NewMessage } from "./session_message.ts";
import { insertMessages } from "./start_run.ts";

const COUNT = `UPDATE sessions SET event_count = event_count + ?2,
  message_count = message_count + CASE WHEN active_run_id IS ?3 THEN ?4 ELSE 0 END
WHERE session_id = ?1`;

const EXTEND_LEASE = `UPDATE runs SET lease_until = ?2 + ${leaseTime("?3")}
WHERE run_id = ?1 AND status = 'running'`;

const READ_STATE = `SELECT s.event_count, s.active_run_id, r.cancel_requested,
  coalesce((SELECT cost_nano_usd FROM spend_runs WHERE run_id = ?2), 0) AS settled
FROM sessions s, runs r WHERE s.session_id = ?1 AND r.run_id = ?2`;

/** What has happened in a run since its last commit. */
export interface Progress {
  events: readonly NewEvent[];
  messages: readonly NewMessage[];
}

/** Where a run stands after a commit. */
export interface RunState {
  /** The session's event count; the events just appended end with this seq. */
  eventCount: number;
  /** False once the session was restored or taken over: its messages are refused from then on. */
  holdsSession: boolean;
  /** Somebody, perhaps through another instance, asked for the run to end. */
  isCancelRequested: boolean;
  /** What all calls of the run have cost, in nano-USD. */
  settledNanoUsd: NanoUsd;
}

/**
 * The statements that keep a run's progress; the last one is a query that `readRunState` understands.
 * Events are appended in any case, messages only while the run holds its session.
 */
export function keepProgress(
  ctx: Pick<SessionContext, "store" | "clock">,
  place: EventPlace & { runId: string },
  progress: Progress,
): Statement[] {
  const { sessionId, runId } = place;
  const statements: Statement[] = [];
  if (progress.events.length > 0) statements.push(insertEvents(place, progress.events));
  if (progress.messages.length > 0) statements.push(insertMessages(sessionId, runId, progress.messages));
  statements.push({ sql: COUNT, args: [sessionId, progress.events.length, runId, progress.messages.length] });
  if (ctx.store.isShared) {
    statements.push({ sql: EXTEND_LEASE, args: [runId, RUN_LEASE_MS, leaseNow(ctx)] });
  }
  statements.push({ sql: READ_STATE, args: [sessionId, runId] });
  return statements;
}

/** Reads the result of the last statement of `keepProgress`. */
export function readRunState(result: ResultSet, runId: string): RunState {
  const row = toObjects<
    { event_count: bigint; active_run_id: string | null; cancel_requested: bigint; settled: bigint }
  >(result)[0];
  return {
    eventCount: Number(row?.event_count ?? 0n),
    holdsSession: row?.active_run_id === runId,
    isCancelRequested: Number(row?.cancel_requested ?? 0n) !== 0,
    settledNanoUsd: row?.settled ?? 0n,
  };
}

/** Tells the others that a run on a shared database is alive, and reads where it stands. */
export async function renewLease(
  ctx: Pick<SessionContext, "store" | "clock">,
  place: EventPlace & { runId: string },
): Promise<RunState> {
  const results = await ctx.store.write([
    { sql: EXTEND_LEASE, args: [place.runId, RUN_LEASE_MS, leaseNow(ctx)] },
    { sql: READ_STATE, args: [place.sessionId, place.runId] },
  ]);
  return readRunState(results[1]!, place.runId);
}
