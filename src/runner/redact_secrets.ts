import { redactCredentials } from "../redaction/mod.ts";

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
