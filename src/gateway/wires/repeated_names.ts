import { Buffer } from "node:buffer";
import { endOfString } from "../../kernel/json/json_bytes.ts";

const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, "\\"];
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Returns a name that an object has twice, at any depth of valid JSON: parsers disagree on which value counts. A name may be
 * written with escapes.
 */
export function findRepeatedName(bytes: Uint8Array): string | undefined {
  const { buffer, byteOffset, length } = bytes;
  const text = Buffer.from(buffer, byteOffset, length);
  /** The names of the objects around a position; undefined for a list. */
  const around: (Set<string> | undefined)[] = [];
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === OPEN) around.push(new Set());
    else if (byte === OPEN_LIST) around.push(undefined);
    else if (byte === CLOSE || byte === CLOSE_LIST) around.pop();
    if (byte !== QUOTE) continue;
    const end = endOfString(bytes, at);
    let next = end;
    while (bytes[next]! <= 0x20) next++;
    const names = bytes[next] === COLON ? around.at(-1) : undefined;
    if (names) {
      const written = text.toString("utf8", at, end);
      const name = written.includes(BACKSLASH) ? JSON.parse(written) as string : written.slice(1, -1);
      if (names.has(name)) return name;
      names.add(name);
    }
    at = end - 1;
  }
  return undefined;
}
