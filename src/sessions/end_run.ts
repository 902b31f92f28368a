import type { Bus } from "../bus/mod.ts";
import type { AgentStatus } from "../contract/values.ts";
import { toPlainJsonText } from "../kernel/json/portable_json.ts";
import type { Statement } from "../store/mod.ts";
import {
  appendEvents,
  appendMessages,
  type NewEvent,
  type Progress,
  publishEvents,
} from "./append_events.ts";
import type { RunRef, SessionContext } from "./context.ts";

/** The reason of the cancellation of a run that has lost its session. */
export const SESSION_LOST =
  "its session was taken from it: restored from a snapshot, or freed by another instance";

/** The end of a run, as it is stored. */
export interface RunEnd {
  status: Extract<AgentStatus, "completed" | "failed" | "budget_exceeded" | "cancelled" | "interrupted">;
  output: string | null;
  /** The problem that ended it, in wire form. */
  error: Record<string, unknown> | null;
  steps: number;
  endedAt: number;
  /** The last event of the run. */
  event: Pick<NewEvent, "type" | "payload">;
}

const IS_RUNNING = "EXISTS (SELECT 1 FROM runs WHERE run_id = ?2 AND status = 'running')";

// A run that has lost its session has not completed: its answer is not in the session. The end that another process has
// written meanwhile stays.
const HAS_LOST = "?4 = 'run.completed' AND active_run_id IS DISTINCT FROM ?2";
const LOG_END = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT session_id, event_count + ?8, ?2, ?3, CASE WHEN ${HAS_LOST} THEN 'run.cancelled' ELSE ?4 END, ?5,
  CASE WHEN ${HAS_LOST} THEN ?7 ELSE ?6 END
FROM sessions WHERE session_id = ?1 AND ${IS_RUNNING}`;

const IS_LOST = `?2 = 'completed' AND NOT EXISTS (
  SELECT 1 FROM sessions WHERE session_id = ?7 AND active_run_id = ?1)`;

const END_RUN = `UPDATE runs SET status = CASE WHEN ${IS_LOST} THEN 'cancelled' ELSE ?2 END,
  output = CASE WHEN ${IS_LOST} THEN NULL ELSE ?3 END, error = ?4, steps = ?5, ended_at = ?6
WHERE run_id = ?1 AND status = 'running'`;

const HOLDS = "active_run_id IS NOT DISTINCT FROM ?2";
// After all statements that read `active_run_id`. Counts the final event if LOG_END has inserted it.
const FREE_SESSION = `UPDATE sessions SET
  event_count = event_count + ?5 + (SELECT count(*) FROM events WHERE session_id = ?1 AND seq = event_count + ?5 + 1),
  message_count = message_count + CASE WHEN ${HOLDS} THEN ?6 ELSE 0 END,
  status = CASE WHEN ${HOLDS} THEN ?3 ELSE status END, updated_at = CASE WHEN ${HOLDS} THEN ?4 ELSE updated_at END,
  active_run_id = CASE WHEN ${HOLDS} THEN NULL ELSE active_run_id END
WHERE session_id = ?1`;

// Nothing changes this after the commit, so that it can be read again when the answer was lost.
const READ_END = `SELECT r.status, r.ended_at, e.seq, e.type, e.payload FROM runs r
LEFT JOIN events e ON e.session_id = r.session_id AND e.seq = (SELECT l.seq FROM events l
  WHERE l.session_id = r.session_id AND l.run_id = r.run_id
    AND l.type IN ('run.completed', 'run.failed', 'run.cancelled', 'run.interrupted', 'budget.exceeded')
  ORDER BY l.seq DESC LIMIT 1)
WHERE r.run_id = ?`;

/**
 * Ends a run in one commit with the events and messages that are not committed yet, and publishes them. A session that
 * the run has lost stays as it is, and a run that would have completed there is cancelled. Returns the end as stored, and
 * the seq of its event.
 */
export async function endRun(
  ctx: SessionContext & { bus: Bus },
  run: RunRef,
  end: RunEnd,
  progress: Progress,
  more: readonly Statement[] = [],
): Promise<{ end: RunEnd; lastSeq: number }> {
  const stored = await writeEnd(ctx, run, end, progress, more);
  const events = [...progress.events, { ...stored.end.event, at: stored.end.endedAt }];
  publishEvents(ctx, run, events, stored.lastSeq);
  return stored;
}

async function writeEnd(
  ctx: SessionContext,
  run: RunRef,
  end: RunEnd,
  progress: Progress,
  more: readonly Statement[],
): Promise<{ end: RunEnd; lastSeq: number }> {
  const { sessionId, runId, agentId } = run;
  const { status, output, error, steps, endedAt, event } = end;
  const events = progress.events.map((event) => ({ ...run, event }));
  const payload = toPlainJsonText(event.payload ?? {});
  const lostPayload = JSON.stringify({ reason: SESSION_LOST });
  const results = await ctx.store.write([
    ...appendEvents(events),
    ...appendMessages([{ sessionId, runId, messages: progress.messages }]),
    {
      sql: LOG_END,
      args: [sessionId, runId, agentId, event.type, endedAt, payload, lostPayload, events.length + 1],
    },
    {
      sql: END_RUN,
      args: [
        runId,
        status,
        JSON.stringify(output),
        error && JSON.stringify(error),
        steps,
        endedAt,
        sessionId,
      ],
    },
    {
      sql: FREE_SESSION,
      args: [sessionId, runId, status, endedAt, events.length, progress.messages.length],
    },
    ...more,
    { sql: READ_END, args: [runId] },
  ]);
  const [stored, storedEndedAt, seq, type, storedPayload] = results.at(-1)!.rows[0]!;
  const lastSeq = Number(seq);
  if (stored === status) return { end, lastSeq };
  return {
    end: {
      ...end,
      status: stored as RunEnd["status"],
      output: null,
      endedAt: Number(storedEndedAt),
      event: { type: type as NewEvent["type"], payload: JSON.parse(storedPayload as string) },
    },
    lastSeq,
  };
}

const COUNT_STEPS =
  `UPDATE runs SET steps = coalesce((SELECT sum(model_calls) FROM run_usage WHERE run_id = ?1), 0)
WHERE run_id = ?1 AND status <> 'running'`;

/** Counts the steps of a run that has ended again, after a call of it was booked late. */
export async function countSteps({ store }: Pick<SessionContext, "store">, runId: string): Promise<void> {
  await store.write([{ sql: COUNT_STEPS, args: [runId] }]);
}
