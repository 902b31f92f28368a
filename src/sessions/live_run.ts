import type { Clock } from "../kernel/clock.ts";
import type { RunState } from "./run_lease.ts";
import { SESSION_LOST } from "./end_run.ts";

/** A run in this process. */
export interface LiveRun {
  cancel(reason: string): void;
  ended: Promise<void>;
}

/**
 * Registers a run of this process, so that it can be cancelled and waited for. It is cancelled by the caller's signal, by
 * `LiveRun.cancel()`, and by a state that says so.
 */
export function registerRun(
  { liveRuns }: { liveRuns: Map<string, LiveRun> },
  runId: string,
  callerSignal: AbortSignal | undefined,
) {
  const controller = new AbortController();
  const ended = Promise.withResolvers<void>();
  const cancel = (reason: string) => controller.abort(new DOMException(reason, "AbortError"));
  const onAbort = () => cancel("cancelled by its caller");
  liveRuns.set(runId, { cancel, ended: ended.promise });
  if (callerSignal?.aborted) onAbort();
  callerSignal?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    /** Cancels the run if its state requires it. */
    applyState(state: RunState) {
      if (!state.holdsSession) cancel(SESSION_LOST);
      else if (state.isCancelRequested) cancel("cancelled on request");
    },
    unregister() {
      callerSignal?.removeEventListener("abort", onAbort);
      liveRuns.delete(runId);
      ended.resolve();
    },
  };
}

/** Resolves once no run is in progress. With `graceMs`, runs that take longer are cancelled. */
export async function endLiveRuns(
  { liveRuns, clock }: { liveRuns: ReadonlyMap<string, LiveRun>; clock: Clock },
  graceMs?: number,
): Promise<void> {
  const allEnded = () => Promise.all([...liveRuns.values()].map((run) => run.ended));
  if (graceMs !== undefined && liveRuns.size > 0) {
    const over = new AbortController();
    await Promise.race([allEnded(), clock.sleep(graceMs, over.signal)]);
    over.abort();
    for (const run of liveRuns.values()) run.cancel("the process is ending");
  }
  await allEnded();
}
