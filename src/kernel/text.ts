/** Conversions to and from text. Node 22 and 24 lack the standard `toHex`, `toBase64` and `fromBase64` of byte arrays. */

/** The bytes per call: the number of arguments of a call is limited. */
const STEP = 32 * 1024;

/** Encodes bytes in lower-case hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the SHA-256 of a text in UTF-8, in hexadecimal. */
export async function sha256Hex(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** Encodes bytes as base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += STEP) {
    binary += String.fromCharCode(...bytes.subarray(start, start + STEP));
  }
  return btoa(binary);
}

/** Decodes base64, with or without padding. Throws on anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Truncates a text; the result has no half of a character. */
export function shorten(text: string, length: number): string {
  return (text.length > length ? `${text.slice(0, length)}…` : text).toWellFormed();
}

/** Formats a path into a JSON value: `prices[0].model`, `[3].at`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.map((key, index) =>
    typeof key === "number" ? `[${key}]` : (index === 0 ? "" : ".") + String(key)
  ).join("");
}

/**
 * Returns the known name closest to a mistyped one: it begins with it, or at most half of its letters differ.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const allowed = Math.floor(name.length / 2);
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceOf(name.toLowerCase(), candidate) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

function distanceOf(typed: string, candidate: string): number {
  return typed.length > 2 && candidate.startsWith(typed) ? 1 : editDistance(typed, candidate);
}

/** Computes the Levenshtein distance, row by row. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
