import { toBase64 } from "../text.ts";
import { FORBIDDEN_KEY, MAX_JSON_DEPTH } from "./canonical_json.ts";

/**
 * A value as JSON text that can travel: lone surrogates become U+FFFD (RFC 8259 leaves them to chance, RFC
 * 7493 forbids them), bytes base64, big integers their digits, a `__proto__` key `_proto_`, and what is nested
 * too deep the text of itself. Throws on a value that contains itself.
 */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value, writeBytes) ?? "null";
  return makePortable(text);
}

/** The same for a value of strings, numbers, booleans, arrays and plain objects only; several times faster. */
export function toPlainJsonText(value: unknown): string {
  return makePortable(JSON.stringify(value) ?? "null");
}

/** Any value as plain JSON; one that has no JSON form becomes its text. */
export function toPlainValue(value: unknown): unknown {
  try {
    return JSON.parse(toJsonText(value));
  } catch {
    return String(value).toWellFormed();
  }
}

/**
 * JSON.stringify escapes lone surrogates, and no others; a literal backslash before `ud8…` matches as well, as
 * does a string that is `__proto__`.
 */
const MAYBE_NOT_PORTABLE = /\\ud[89a-f][0-9a-f]{2}|"__proto__"/i;

function makePortable(text: string): string {
  if (!MAYBE_NOT_PORTABLE.test(text) && !isDeep(text)) return text;
  return JSON.stringify(toPortable(JSON.parse(text), 0));
}

/** Whether brackets stand nested too deep, those in strings counted too: it may be mistaken, on the safe side. */
function isDeep(text: string): boolean {
  if (text.length <= 2 * MAX_JSON_DEPTH) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i) | 0x20; // [ and {, ] and } differ in that bit
    if (unit === 0x7b) {
      if (++depth > MAX_JSON_DEPTH) return true;
    } else if (unit === 0x7d) depth--;
  }
  return false;
}

function toPortable(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  // Strings of lone surrogates in it are escapes in its text, and so well-formed.
  if (depth >= MAX_JSON_DEPTH) return JSON.stringify(value);
  if (Array.isArray(value)) return value.map((item) => toPortable(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key === FORBIDDEN_KEY ? "_proto_" : key.toWellFormed(),
      toPortable(item, depth + 1),
    ]),
  );
}

/** Looks at the holder's own value: a Buffer has a `toJSON` that would come first. */
function writeBytes(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  if (original instanceof Uint8Array) return toBase64(original);
  return typeof value === "bigint" ? String(value) : value;
}
