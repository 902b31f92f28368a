import { requestCancel } from "../sessions/mod.ts";
import type { RunnerContext } from "./context.ts";

/**
 * Cancels a run, wherever it runs.
 *
 * @throws {PurserError} `not_found`, or `conflict` when the run has ended
 */
export async function cancelRun(ctx: RunnerContext, runId: string): Promise<void> {
  await requestCancel(ctx, runId);
  ctx.liveRuns.get(runId)?.cancel("cancelled on request");
}
