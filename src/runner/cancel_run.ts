import { recoverRuns, requestCancel } from "../sessions/mod.ts";
import type { RunnerContext } from "./context.ts";

/**
 * Cancels a run, wherever it runs. One that this process, the database's only one, does not have any more,
 * because its end could not be written, is ended as `interrupted`.
 *
 * @throws {PurserError} `not_found`, or `conflict` when the run has ended
 */
export async function cancelRun(ctx: RunnerContext, runId: string): Promise<void> {
  await requestCancel(ctx, runId);
  const run = ctx.liveRuns.get(runId);
  if (run) run.cancel("cancelled on request");
  else if (ctx.store.kind !== "remote") await recoverRuns(ctx, runId);
}
