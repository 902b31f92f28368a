import { messageOf, PurserError } from "../../kernel/errors.ts";
import { redactCredentials } from "../../redaction/mod.ts";

/** The longest text of a provider in an error, in characters. */
const MAX_TEXT = 500;

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

/** Returns the text of a provider's or a network error, redacted and shortened. */
export function modelErrorText(error: unknown): string {
  return redactSecrets(messageOf(error)).toWellFormed().slice(0, MAX_TEXT);
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

/**
 * Patterns of credentials in error texts. Providers repeat a wrong key, often shortened or masked, so these match more than
 * `redactCredentials()`, which also scans prose.
 */
const CREDENTIALS: readonly RegExp[] = [
  /\b(bearer|basic)\s+[^"'<>]+/gi,
  /\b(sk|pk|rk|psr|xai|gsk|key)[-_][A-Za-z0-9_\-*]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]+/g,
  /([?&](?:key|api[-_]?key|token)=)[^&\s"']+/gi,
];

/**
 * Redacts credentials in an error text. Such texts are sent to clients, logged, and kept in the append-only event log.
 * Providers repeat a wrong key; `fetch` repeats a header that it can't send.
 */
export function redactSecrets(text: string): string {
  const redacted = CREDENTIALS.reduce(
    (redacted, pattern) =>
      redacted.replace(pattern, (_match, kept: unknown) => {
        const prefix = typeof kept === "string" && /^[?&]/.test(kept) ? kept : "";
        return `${prefix}[redacted]`;
      }),
    text,
  );
  // Random tokens stay: the provider's support needs the id of a request.
  return redactCredentials(redacted, () => {}, { withoutEntropy: true });
}
