import { recoverRuns, requestCancel } from "../sessions/mod.ts";
import type { RunnerContext } from "./context.ts";

/**
 * Cancels a run, wherever it runs. One that no process has any more is ended as `interrupted`.
 *
 * @throws {PurserError} `not_found`, or `conflict` when the run has ended
 */
export async function cancelRun(ctx: RunnerContext, runId: string): Promise<void> {
  await requestCancel(ctx, runId);
  const run = ctx.liveRuns.get(runId);
  if (run) run.cancel("cancelled on request");
  else await recoverRuns(ctx, runId);
}
