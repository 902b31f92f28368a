import type { Statement } from "../store/mod.ts";
import type { EventPlace } from "./insert_events.ts";
import type { SessionContext } from "./context.ts";
import { keepProgress, type Progress, readRunState, type RunState } from "./run_progress.ts";

/** How a run ended. */
export interface RunEnd {
  status: "completed" | "failed" | "budget_exceeded" | "cancelled";
  output: string | null;
  /** The problem that ended it, in wire form. */
  error: Record<string, unknown> | null;
  steps: number;
  endedAt: number;
}

const END_RUN = `UPDATE runs SET status = ?2, output = ?3, error = ?4, steps = ?5, ended_at = ?6
WHERE run_id = ?1 AND status = 'running'`;

// Last: what comes before is allowed only while the run holds the session.
const FREE_SESSION = `UPDATE sessions SET status = ?3, active_run_id = NULL, updated_at = ?4
WHERE session_id = ?1 AND active_run_id = ?2`;

/** Ends a run in one commit with what it has not kept yet; a session it no longer holds stays as it is. */
export async function endRun(
  ctx: SessionContext,
  place: EventPlace & { runId: string },
  end: RunEnd,
  progress: Progress,
  more: readonly Statement[] = [],
): Promise<RunState> {
  const { sessionId, runId } = place;
  const progressStatements = keepProgress(ctx, place, progress);
  const results = await ctx.store.write([
    ...progressStatements,
    {
      sql: END_RUN,
      args: [
        runId,
        end.status,
        JSON.stringify(end.output),
        end.error && JSON.stringify(end.error),
        end.steps,
        end.endedAt,
      ],
    },
    { sql: FREE_SESSION, args: [sessionId, runId, end.status, end.endedAt] },
    ...more,
  ]);
  return readRunState(results[progressStatements.length - 1]!, runId);
}
