/* Looks at JSON in its bytes (UTF-8), without parsing it. */

const [QUOTE, BACKSLASH, COMMA, OPEN, OPEN_LIST] = [0x22, 0x5c, 0x2c, 0x7b, 0x5b];

/** Returns the end of the string that begins at a quote. */
export function endOfString(bytes: Uint8Array, at: number): number {
  for (let quote = at;;) {
    quote = bytes.indexOf(QUOTE, quote + 1); // native: prompts are long strings
    if (quote === -1) return bytes.length;
    let backslashes = 0;
    while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

/** The same, faster for a string of a few characters: a call of native code takes as long as looking at some fifty. */
function endOfShortString(bytes: Uint8Array, at: number): number {
  let end = at + 1;
  while (end - at < 64 && bytes[end] !== QUOTE && bytes[end] !== BACKSLASH) end++;
  return bytes[end] === QUOTE ? end + 1 : endOfString(bytes, end - 1);
}

/**
 * Returns whether a JSON text has more values than `max`, going by its commas and brackets: one that has takes long to parse
 * and to check, in one piece, whatever its size.
 */
export function hasMoreValues(bytes: Uint8Array, max: number): boolean {
  if (bytes.length <= max) return false;
  let values = 1;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfShortString(bytes, at) - 1;
    else if ((byte === COMMA || byte === OPEN || byte === OPEN_LIST) && ++values > max) return true;
  }
  return false;
}
