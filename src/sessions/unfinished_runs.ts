import type { Log } from "../kernel/log.ts";
import { recoverRuns, type RecoveryContext } from "./recover_runs.ts";

/** How long to wait before the next attempt to write the end of a run. */
const RETRY_MS = 1_000;

/** The runs of this process whose end could not be written, as on a full disk; they are ended as soon as it can be. */
export interface UnfinishedRuns {
  /** Ends a run, in the background and as often as it takes, as `interrupted`. One that has ended stays as it is. */
  add(runId: string): void;
  /** Makes the last attempt, for a process that ends; what is left is recovered by other processes. */
  stop(): Promise<void>;
}

export function createUnfinishedRuns(
  ctx: RecoveryContext & { log: Log; stopping: AbortSignal },
): UnfinishedRuns {
  const runs = new Set<string>();
  let isRetrying = false;

  /** Returns whether the database took it. */
  async function endAll(): Promise<boolean> {
    try {
      for (const runId of runs) {
        const ended = await recoverRuns(ctx, runId);
        if (ended.length > 0) {
          ctx.log.warn("A run was ended whose end could not be written", { run_id: runId });
        }
        runs.delete(runId);
      }
      return true;
    } catch {
      return false; // the run itself has reported why
    }
  }

  async function retry(): Promise<void> {
    isRetrying = true;
    do {
      await ctx.clock.sleep(RETRY_MS, ctx.stopping);
    } while (!ctx.stopping.aborted && (!await endAll() || runs.size > 0));
    isRetrying = false;
  }

  return {
    add(runId) {
      runs.add(runId);
      if (!isRetrying && !ctx.stopping.aborted) void retry();
    },
    stop: async () => void await endAll(),
  };
}
