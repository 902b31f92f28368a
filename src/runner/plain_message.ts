import { encodeBase64 } from "hono/utils/encode";

/**
 * A message as plain JSON, as the session keeps it: bytes become base64, URLs text, and text is made
 * well-formed, since JSON that travels must not hold lone surrogates.
 */
export function toPlainMessage(
  message: { role: string; content: unknown },
): { role: string; content: unknown } {
  const text = JSON.stringify(message, replaceBytes);
  // JSON.stringify escapes lone surrogates, and only those.
  return LONE_SURROGATE.test(text) ? JSON.parse(text, makeWellFormed) : JSON.parse(text);
}

/** Any value as plain JSON for the event log; what has no JSON form becomes its text. */
export function toPlainValue(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value ?? null, replaceBytes) ?? "null", makeWellFormed);
  } catch {
    return String(value);
  }
}

const LONE_SURROGATE = /\\ud[89a-f][0-9a-f]{2}/i;

function makeWellFormed(_key: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed() : value;
}

function replaceBytes(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Uint8Array)) return value;
  return encodeBase64(value.slice().buffer);
}
