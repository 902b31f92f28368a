import { messageOf, PurserError } from "../../kernel/errors.ts";
import { redactCredentials } from "../../redaction/mod.ts";

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

/**
 * What may be a credential in a provider's or a network's error text. Providers repeat a wrong key, often short,
 * masked or cut: these forms ask for less than those of `redactCredentials()`, which would take words for keys.
 */
const CREDENTIALS: readonly RegExp[] = [
  /\b(bearer|basic)\s+[^"'<>]+/gi,
  /\b(sk|pk|rk|psr|xai|gsk|key)[-_][A-Za-z0-9_\-*]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]+/g,
  /([?&](?:key|api[-_]?key|token)=)[^&\s"']+/gi,
];

/**
 * An error's text without what looks like a credential. Such texts are answered, logged, and kept in an event
 * log from which nothing can be removed. Providers repeat a wrong key; fetch repeats a header it can't send.
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
  // Merely random tokens stay: a request's id is what one asks a provider about.
  return redactCredentials(redacted, () => {}, { withoutEntropy: true });
}
