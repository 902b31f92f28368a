import { BudgetExceededError, messageOf, PurserError } from "../kernel/errors.ts";
import type { RunEnd } from "../sessions/mod.ts";
import { modelError } from "./models/model_error.ts";
import type { LoopOutcome } from "./run_loop.ts";

type End = Omit<RunEnd, "endedAt" | "steps">;

/** Returns the end of a run whose loop has ended with an answer. */
export function endAfterAnswer({ text, finishReason }: LoopOutcome, steps: number): End {
  const reason = finishReason === "tool-calls" ? "max_steps" : finishReason;
  const payload = { output: text, finish_reason: reason, steps };
  return { status: "completed", output: text, error: null, event: { type: "run.completed", payload } };
}

/** Returns the end of a run whose loop has failed, and the error for the caller unless the run was cancelled. */
export function endAfterError(error: unknown, signal: AbortSignal): { end: End; failure?: PurserError } {
  const failure = modelError(error);
  if (failure instanceof BudgetExceededError) {
    const event = {
      type: "budget.exceeded" as const,
      payload: { message: failure.message, ...failure.details },
    };
    return {
      end: { status: "budget_exceeded", output: null, error: problemOf(failure), event },
      failure,
    };
  }
  if (signal.aborted) {
    const event = { type: "run.cancelled" as const, payload: { reason: messageOf(signal.reason) } };
    return { end: { status: "cancelled", output: null, error: null, event } };
  }
  const event = { type: "run.failed" as const, payload: problemOf(failure) };
  return { end: { status: "failed", output: null, error: problemOf(failure), event }, failure };
}

function problemOf(error: PurserError): Record<string, unknown> {
  return { code: error.code, message: error.message, ...(error.details && { details: error.details }) };
}
