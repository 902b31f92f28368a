import { messageOf, PurserError } from "../../kernel/errors.ts";
import { redactSecrets } from "../redact_secrets.ts";

/** The longest text of a provider that goes into an error. */
const MAX_TEXT = 500;

/**
 * What made a model call or its loop fail, as Purser's error. Errors of Purser itself come through the AI
 * SDK's retries unchanged; anything else is the provider's.
 */
export function explainModelError(error: unknown): PurserError {
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

/** What a provider's or a network's error says, fit to be kept and shown. */
export function modelErrorText(error: unknown): string {
  return redactSecrets(messageOf(error)).toWellFormed().slice(0, MAX_TEXT);
}

/** The error, those it was retried after, newest first, and their causes. */
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
