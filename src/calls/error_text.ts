import { messageOf } from "../kernel/errors.ts";
import { redactCredentials } from "../redaction/mod.ts";

/** The longest text of a provider in an error, in characters. */
const MAX_TEXT = 500;

/** Returns the text of a provider's or a network error, redacted and shortened. */
export function modelErrorText(error: unknown): string {
  return redactSecrets(messageOf(error)).toWellFormed().slice(0, MAX_TEXT);
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
