import type { SessionEventType } from "../contract/values.ts";
import { messageOf } from "../kernel/errors.ts";
import type { RunnerContext } from "./context.ts";
import type { RunPart } from "./run_result.ts";

/** A listener's own fault is not the run's. */
export function tellSafely(ctx: RunnerContext, onPart: (part: RunPart) => void): (part: RunPart) => void {
  return (part) => {
    try {
      onPart(part);
    } catch (error) {
      ctx.log.error("A listener of a run failed", { reason: messageOf(error) });
    }
  };
}

/** Passes a run's events on to its listener. Returns the function that ends it. */
export function listen(
  ctx: RunnerContext,
  runId: string,
  onPart: ((part: RunPart) => void) | undefined,
): () => void {
  if (!onPart) return () => {};
  return ctx.bus.subscribe(({ type, seq, at, run_id, session_id, payload }) => {
    if (run_id !== runId || session_id === null) return;
    // All that a run publishes with its session is of the session's log.
    const event = { type: type as SessionEventType, seq, at, run_id, session_id, payload };
    onPart({ type: "event", event });
  });
}
