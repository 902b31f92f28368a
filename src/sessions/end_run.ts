import { toPlainJsonText } from "../json.ts";
import type { AgentStatus, Statement } from "../store/mod.ts";
import type { EventPlace } from "./insert_events.ts";
import type { SessionContext } from "./context.ts";
import { keepProgress, type Progress, readRunState, type RunState } from "./run_progress.ts";
import type { NewEvent } from "./session_event.ts";

/** How a run ended. */
export interface RunEnd {
  status: Extract<AgentStatus, "completed" | "failed" | "budget_exceeded" | "cancelled">;
  output: string | null;
  /** The problem that ended it, in wire form. */
  error: Record<string, unknown> | null;
  steps: number;
  endedAt: number;
  /** The last event of the run. */
  event: Pick<NewEvent, "type" | "payload">;
}

/** Why a run is cancelled whose answer nobody may keep any more. */
export const SESSION_LOST =
  "its session was taken from it: restored from a snapshot, or freed by another instance";

// A run that has lost its session has not completed: what it answered is not there.
const IS_LOST = `?2 = 'completed' AND NOT EXISTS (
  SELECT 1 FROM sessions WHERE session_id = ?7 AND active_run_id = ?1)`;
const END_RUN =
  `UPDATE runs SET status = iif(${IS_LOST}, 'cancelled', ?2), output = iif(${IS_LOST}, NULL, ?3),
  error = ?4, steps = ?5, ended_at = ?6
WHERE run_id = ?1 AND status = 'running'`;

const LOG_END = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT session_id, event_count + 1, ?2, ?3,
  iif(?4 = 'run.completed' AND active_run_id IS NOT ?2, 'run.cancelled', ?4), ?5,
  iif(?4 = 'run.completed' AND active_run_id IS NOT ?2, ?7, ?6)
FROM sessions WHERE session_id = ?1`;
const COUNT_END = "UPDATE sessions SET event_count = event_count + 1 WHERE session_id = ?";

// Last: what comes before is allowed only while the run holds the session.
const FREE_SESSION = `UPDATE sessions SET status = ?3, active_run_id = NULL, updated_at = ?4
WHERE session_id = ?1 AND active_run_id = ?2`;

/**
 * Ends a run in one commit with what it has not kept yet; a session it no longer holds stays as it is, and a run
 * that would have completed there is cancelled. Gives the state, and the end as it was written.
 */
export async function endRun(
  ctx: SessionContext,
  place: EventPlace & { runId: string },
  end: RunEnd,
  progress: Progress,
  more: readonly Statement[] = [],
): Promise<RunState & { end: RunEnd }> {
  const { sessionId, runId, agentId } = place;
  const { status, output, error, steps, endedAt, event } = end;
  const progressStatements = keepProgress(ctx, place, progress);
  const lostPayload = { reason: SESSION_LOST };
  const results = await ctx.store.write([
    ...progressStatements,
    {
      sql: LOG_END,
      args: [
        sessionId,
        runId,
        agentId,
        event.type,
        endedAt,
        toPlainJsonText(event.payload ?? {}),
        JSON.stringify(lostPayload),
      ],
    },
    { sql: COUNT_END, args: [sessionId] },
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
    { sql: FREE_SESSION, args: [sessionId, runId, status, endedAt] },
    ...more,
  ]);
  const state = readRunState(results[progressStatements.length - 1]!, runId);
  const isLost = status === "completed" && !state.holdsSession;
  return {
    ...state,
    eventCount: state.eventCount + 1,
    end: isLost
      ? { ...end, status: "cancelled", output: null, event: { type: "run.cancelled", payload: lostPayload } }
      : end,
  };
}
