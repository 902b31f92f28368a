import { eq } from "drizzle-orm";
import { PurserError } from "../kernel/errors.ts";
import { tables } from "../store/mod.ts";
import type { SessionContext } from "./context.ts";

const { runs } = tables;

const REQUEST = "UPDATE runs SET cancel_requested = 1 WHERE run_id = ? AND status = 'running'";

/**
 * Asks for a run to end; whichever instance runs it sees the request at its next commit or lease renewal.
 *
 * @throws {PurserError} `not_found`, or `conflict` when the run has ended
 */
export async function requestCancel(ctx: SessionContext, runId: string): Promise<void> {
  const [run] = await ctx.query.select({ status: runs.status }).from(runs).where(eq(runs.runId, runId));
  if (!run) throw new PurserError("not_found", `Cannot find run ${runId}`);
  if (run.status !== "running") {
    throw new PurserError("conflict", `Cannot cancel run ${runId}: it has ended (${run.status})`);
  }
  // Last: the run may end by this very request before anything else could be read.
  await ctx.store.write([{ sql: REQUEST, args: [runId] }]);
}
