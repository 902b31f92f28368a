/** Bytes as text. The runtimes' own methods for it (`toHex`, `toBase64`, `fromBase64`) are missing in Node 22 and 24. */

/** So many bytes at once: a call takes a bounded number of arguments. */
const STEP = 32 * 1024;

/** Lower-case hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += STEP) {
    binary += String.fromCharCode(...bytes.subarray(start, start + STEP));
  }
  return btoa(binary);
}

/** The bytes of base64, with or without padding. Throws for anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
