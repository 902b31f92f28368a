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
  /** The names of the objects around a position: none yet, one, or several; `LIST` for a list. */
  const around: (typeof LIST | undefined | string | Set<string>)[] = [];
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === OPEN) around.push(undefined);
    else if (byte === OPEN_LIST) around.push(LIST);
    else if (byte === CLOSE || byte === CLOSE_LIST) around.pop();
    if (byte !== QUOTE) continue;
    const end = endOfString(bytes, at);
    let next = end;
    while (bytes[next]! <= 0x20) next++;
    if (bytes[next] === COLON) {
      const written = text.toString("latin1", at + 1, end - 1);
      const name = written.includes(BACKSLASH) ? unescaped(text.subarray(at, end)) : written;
      const last = around.length - 1;
      const names = around[last];
      if (names === name || (names instanceof Set && names.has(name))) return shown(name);
      if (names instanceof Set) names.add(name);
      else around[last] = typeof names === "string" ? new Set([names, name]) : name;
    }
    at = end - 1;
  }
  return undefined;
}

const LIST = Symbol("list");

/** Names are compared by the bytes of their UTF-8, each of which is one character. */
const unescaped = (quoted: Buffer) => Buffer.from(JSON.parse(quoted.toString("utf8"))).toString("latin1");
const shown = (name: string) => Buffer.from(name, "latin1").toString("utf8");
