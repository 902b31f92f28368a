/** Bytes as text. Node 22 and 24 lack the standard `toHex`, `toBase64` and `fromBase64` of byte arrays. */

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
