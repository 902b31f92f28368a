import { modelErrorText } from "../../calls/mod.ts";
import { PurserError } from "../../kernel/errors.ts";

/**
 * Converts the error of a model call or its loop to a `PurserError`. Purser's own errors are found within those of the AI
 * SDK's retries and returned unchanged; any other error is the provider's.
 */
export function modelError(error: unknown): PurserError {
  for (const candidate of chainOf(error)) {
    if (candidate instanceof PurserError) return candidate;
  }
  const last = (error as { lastError?: unknown })?.lastError ?? error;
  const status = (last as { statusCode?: unknown })?.statusCode;
  const text = modelErrorText(last);
  return new PurserError(
    "provider_error",
    `Cannot get an answer from the model: ${typeof status === "number" ? `status ${status}: ` : ""}${text}`,
    { cause: error, ...(typeof status === "number" && { details: { provider_status: status } }) },
  );
}

/** Yields the error, the errors of earlier attempts, newest first, and their causes. */
function* chainOf(error: unknown): Generator<unknown> {
  yield error;
  const { lastError, errors, cause } = (error ?? {}) as {
    lastError?: unknown;
    errors?: unknown[];
    cause?: unknown;
  };
  if (lastError !== undefined) yield* chainOf(lastError);
  if (Array.isArray(errors)) yield* [...errors].reverse();
  if (cause !== undefined && cause !== error) yield* chainOf(cause);
}
