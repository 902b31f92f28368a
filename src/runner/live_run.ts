import { SESSION_LOST } from "../sessions/mod.ts";
import type { RunnerContext } from "./context.ts";

/** Makes a run known to this process, so that it can be cancelled and waited for. */
export function enterLiveRun(ctx: RunnerContext, runId: string, signal: AbortSignal | undefined) {
  const controller = new AbortController();
  const ended = Promise.withResolvers<void>();
  const cancel = (reason: string) => controller.abort(new DOMException(reason, "AbortError"));
  const onAbort = () => cancel("cancelled by its caller");
  ctx.liveRuns.set(runId, { cancel, ended: ended.promise });
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    heed(state: { holdsSession: boolean; isCancelRequested: boolean }) {
      if (!state.holdsSession) cancel(SESSION_LOST);
      else if (state.isCancelRequested) cancel("cancelled on request");
    },
    leave() {
      signal?.removeEventListener("abort", onAbort);
      ctx.liveRuns.delete(runId);
      ended.resolve();
    },
  };
}
