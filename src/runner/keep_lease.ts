import { type EventPlace, renewLease, RUN_LEASE_MS } from "../sessions/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import type { RunnerContext } from "./context.ts";

/**
 * On a shared database, tells the other instances that the run is alive, also during a long call, and
 * hears from them that it should end. Returns the function that stops it.
 */
export function keepLease(
  ctx: RunnerContext,
  place: EventPlace & { runId: string },
  heed: (state: { holdsSession: boolean; isCancelRequested: boolean }) => void,
): () => void {
  if (!ctx.store.isShared) return () => {};
  const stopped = new AbortController();
  (async () => {
    for (;;) {
      await ctx.clock.sleep(RUN_LEASE_MS / 6, stopped.signal);
      if (stopped.signal.aborted) return;
      try {
        heed(await renewLease(ctx, place));
      } catch (error) {
        ctx.log.warn("A run's lease could not be renewed", { run_id: place.runId, reason: messageOf(error) });
      }
    }
  })();
  return () => stopped.abort();
}
