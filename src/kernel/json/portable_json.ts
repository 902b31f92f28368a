import { toBase64 } from "../encoding.ts";
import { FORBIDDEN_KEY, MAX_JSON_DEPTH } from "./canonical_json.ts";

/**
 * Serializes a value as portable JSON: lone surrogates become U+FFFD (unpredictable in RFC 8259, forbidden in RFC 7493),
 * bytes base64, big integers their digits, a `__proto__` key `_proto_`, and values nested too deep their JSON text.
 * Throws on circular references.
 */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value, writeBytes) ?? "null";
  return makePortable(text);
}

/** As `toJsonText` for strings, numbers, booleans, arrays and plain objects only; several times faster. */
export function toPlainJsonText(value: unknown): string {
  return makePortable(JSON.stringify(value) ?? "null");
}

/** Converts any value to plain JSON; a value without a JSON form to its text. */
export function toPlainValue(value: unknown): unknown {
  try {
    return JSON.parse(toJsonText(value));
  } catch {
    return String(value).toWellFormed();
  }
}

/**
 * Matches the escapes of lone surrogates, the only ones that JSON.stringify escapes; also a literal backslash before
 * `ud8…` and a string `__proto__`.
 */
const MAYBE_NOT_PORTABLE = /\\ud[89a-f][0-9a-f]{2}|"__proto__"/i;

function makePortable(text: string): string {
  if (!MAYBE_NOT_PORTABLE.test(text) && !isDeep(text)) return text;
  return JSON.stringify(toPortable(JSON.parse(text), 0));
}

/** Returns whether brackets are nested too deep. Counts those in strings too, so it errs on the safe side. */
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
  // Its text is well-formed, since lone surrogates are escaped in it.
  if (depth >= MAX_JSON_DEPTH) return JSON.stringify(value);
  if (Array.isArray(value)) return value.map((item) => toPortable(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key === FORBIDDEN_KEY ? "_proto_" : key.toWellFormed(),
      toPortable(item, depth + 1),
    ]),
  );
}

/** Uses the holder's original value: a Buffer has a `toJSON`, which has been called on `value`. */
function writeBytes(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  if (original instanceof Uint8Array) return toBase64(original);
  return typeof value === "bigint" ? String(value) : value;
}
