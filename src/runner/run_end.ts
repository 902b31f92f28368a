import { BudgetExceededError, messageOf, PurserError } from "../kernel/errors.ts";
import type { RunEnd } from "../sessions/mod.ts";
import type { RunnerContext } from "./context.ts";
import { explainModelError } from "./models/model_error.ts";
import type { RunLog } from "./run_recorder.ts";

/** How a run ended, as it is written down. */
export function endOf(
  ctx: RunnerContext,
  status: RunEnd["status"],
  log: RunLog,
  output: string | null,
  error: Record<string, unknown> | null,
  event: RunEnd["event"],
): RunEnd {
  return { status, output, error, steps: log.steps, endedAt: ctx.clock.now(), event };
}

/** Sorts out why a run ended without an answer. */
export function endAfter(
  ctx: RunnerContext,
  error: unknown,
  live: { signal: AbortSignal },
  log: RunLog,
): { end: RunEnd; failure?: PurserError } {
  const failure = explainModelError(error);
  if (failure instanceof BudgetExceededError) {
    const payload = { message: failure.message, ...failure.details };
    const event = { type: "budget.exceeded" as const, payload };
    return { end: endOf(ctx, "budget_exceeded", log, null, problemOf(failure), event), failure };
  }
  if (live.signal.aborted) {
    const event = { type: "run.cancelled" as const, payload: { reason: messageOf(live.signal.reason) } };
    return { end: endOf(ctx, "cancelled", log, null, null, event) };
  }
  const event = { type: "run.failed" as const, payload: problemOf(failure) };
  return { end: endOf(ctx, "failed", log, null, problemOf(failure), event), failure };
}

/** Ends the run, and gives the end as it was written; what keeps it from being written is a failure of its own. */
export async function endIn(log: RunLog, end: RunEnd): Promise<{ end: RunEnd; failure?: PurserError }> {
  try {
    return { end: await log.end(end) };
  } catch (error) {
    if (error instanceof PurserError) return { end, failure: error };
    const message = `Cannot write down the end of run ${log.place.runId}`;
    return { end, failure: new PurserError("internal", message, { cause: error }) };
  }
}

function problemOf(error: PurserError): Record<string, unknown> {
  return { code: error.code, message: error.message, ...(error.details && { details: error.details }) };
}
