import { eq } from "drizzle-orm";
import { PurserError } from "../kernel/errors.ts";
import { tables } from "../store/mod.ts";
import type { SessionContext } from "./context.ts";
import type { LiveRun } from "./live_run.ts";
import { recoverRuns } from "./recover_runs.ts";

const { runs } = tables;

/**
 * Cancels a run of any instance. A run of this process ends at once, one of another instance at its next commit or lease
 * renewal, and a dead run becomes `interrupted`.
 *
 * @throws {PurserError} `not_found`, or `conflict` when the run has ended
 */
export async function cancelRun(
  ctx: SessionContext & { liveRuns: ReadonlyMap<string, LiveRun> },
  runId: string,
): Promise<void> {
  await requestCancel(ctx, runId);
  const run = ctx.liveRuns.get(runId);
  if (run) run.cancel("cancelled on request");
  else await recoverRuns(ctx, runId);
}

const REQUEST = "UPDATE runs SET cancel_requested = 1 WHERE run_id = ? AND status = 'running'";

/** Requests in the database that a run ends. Throws like `cancelRun()`. */
export async function requestCancel(ctx: SessionContext, runId: string): Promise<void> {
  const [run] = await ctx.query.select({ status: runs.status }).from(runs).where(eq(runs.runId, runId));
  if (!run) throw new PurserError("not_found", `Cannot find run ${runId}`);
  if (run.status !== "running") {
    throw new PurserError("conflict", `Cannot cancel run ${runId}: it has ended (${run.status})`);
  }
  // Last: the run may end by this very request before anything else could be read.
  await ctx.store.write([{ sql: REQUEST, args: [runId] }]);
}
