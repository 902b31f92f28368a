/* Looks at JSON in its bytes (UTF-8), without parsing it. */

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** The length from which on a call of native code is faster than looking at each byte. */
const SHORT_BYTES = 64;

/** Returns the end of the string that begins at a quote. */
export function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  for (const end = at + SHORT_BYTES; at < end; at++) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === BACKSLASH) break;
  }
  if (bytes[at] !== BACKSLASH) {
    const quote = bytes.indexOf(QUOTE, at); // native: prompts are long strings
    if (quote === -1) return bytes.length;
    if (bytes[quote - 1] !== BACKSLASH) return quote + 1;
  }
  // Where quotes are escaped, there are many.
  for (; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === BACKSLASH) at++;
  }
  return bytes.length;
}
