/**
 * A value as JSON text that can travel: lone surrogates become U+FFFD (RFC 8259 leaves them to chance, RFC
 * 7493 forbids them), bytes base64, big integers their digits. Throws on a value that contains itself.
 */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value, writeBytes) ?? "null";
  return makeWellFormed(text);
}

/** The same for a value of strings, numbers, booleans, arrays and plain objects only; several times faster. */
export function toPlainJsonText(value: unknown): string {
  return makeWellFormed(JSON.stringify(value) ?? "null");
}

/** Any value as plain JSON; one that has no JSON form becomes its text. */
export function toPlainValue(value: unknown): unknown {
  try {
    return JSON.parse(toJsonText(value));
  } catch {
    return String(value).toWellFormed();
  }
}

/** JSON.stringify escapes lone surrogates, and no others; a literal backslash before `ud8…` matches as well. */
const MAYBE_LONE_SURROGATE = /\\ud[89a-f][0-9a-f]{2}/i;

function makeWellFormed(text: string): string {
  if (!MAYBE_LONE_SURROGATE.test(text)) return text;
  return JSON.stringify(JSON.parse(text), (_key, value) => {
    if (typeof value === "string") return value.toWellFormed();
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), item]));
  });
}

/** Looks at the holder's own value: a Buffer has a `toJSON` that would come first. */
function writeBytes(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  if (original instanceof Uint8Array) return original.toBase64();
  return typeof value === "bigint" ? String(value) : value;
}
