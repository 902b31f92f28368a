import { BudgetExceededError, messageOf, PurserError } from "../errors.ts";
import type { RunEnd } from "../sessions/mod.ts";
import type { RunnerContext } from "./context.ts";
import { explainModelError } from "./explain_model_error.ts";
import type { RunLog } from "./run_log.ts";

/** How a run ended, as it is written down. */
export function endOf(
  ctx: RunnerContext,
  status: RunEnd["status"],
  log: RunLog,
  output: string | null,
  error: Record<string, unknown> | null,
): RunEnd {
  return { status, output, error, steps: log.steps, endedAt: ctx.clock.now() };
}

/** Sorts out why a run ended without an answer, and logs it. */
export function endAfter(
  ctx: RunnerContext,
  error: unknown,
  live: { signal: AbortSignal },
  log: RunLog,
): { end: RunEnd; failure?: PurserError } {
  const failure = explainModelError(error);
  if (failure instanceof BudgetExceededError) {
    log.add("budget.exceeded", { message: failure.message, ...failure.details });
    return { end: endOf(ctx, "budget_exceeded", log, null, problemOf(failure)), failure };
  }
  if (live.signal.aborted) {
    log.add("run.cancelled", { reason: messageOf(live.signal.reason) });
    return { end: endOf(ctx, "cancelled", log, null, null) };
  }
  log.add("run.failed", { ...problemOf(failure) });
  return { end: endOf(ctx, "failed", log, null, problemOf(failure)), failure };
}

/** Ends the run; what keeps its end from being written comes before what ended it. */
export async function endIn(log: RunLog, end: RunEnd): Promise<PurserError | undefined> {
  try {
    await log.end(end);
    return undefined;
  } catch (error) {
    if (error instanceof PurserError) return error;
    return new PurserError("internal", `Cannot write down the end of run ${log.place.runId}`, {
      cause: error,
    });
  }
}

function problemOf(error: PurserError): Record<string, unknown> {
  return { code: error.code, message: error.message, ...(error.details && { details: error.details }) };
}
