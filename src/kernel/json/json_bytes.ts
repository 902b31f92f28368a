/* Looks at JSON in its bytes (UTF-8), without parsing it. */

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** Returns the end of the string that begins at a quote. */
export function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === BACKSLASH) at++;
  }
  return bytes.length;
}
