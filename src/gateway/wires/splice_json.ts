import { endOfString } from "../../kernel/json/json_bytes.ts";

/* Changes one member of a JSON object in its bytes, and leaves every other byte as it is. */

const [QUOTE, COMMA] = [0x22, 0x2c];
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Returns the bytes of a JSON object with a member set to `value`, which is JSON: it is replaced, or inserted first. `path` has
 * its name, after those of the objects around it. `bytes` must be a valid object without duplicate names.
 */
export function spliceMember(
  bytes: Uint8Array,
  [name, ...inner]: readonly [string, ...string[]],
  value: string,
): Uint8Array {
  const found = findMember(bytes, name);
  if (found) {
    const [next, ...rest] = inner;
    const changed = next === undefined
      ? encode(value)
      : spliceMember(bytes.subarray(found.start, found.end), [next, ...rest], value);
    return concat(bytes.subarray(0, found.start), changed, bytes.subarray(found.end));
  }
  const start = bytes.indexOf(OPEN) + 1;
  const isEmpty = bytes[skipBlanks(bytes, start)] === CLOSE;
  const member = encode(`${JSON.stringify(name)}:${value}${isEmpty ? "" : ","}`);
  return concat(bytes.subarray(0, start), member, bytes.subarray(start));
}

/** The members whose own members are read for the bound and the booking of a call. */
const READ_WITHIN = new Set(["stream_options", "generationConfig", "generation_config"]);

const NOTHING: ReadonlySet<string> = new Set();

/** Returns a name as parsers that ignore case compare it. Unicode folds some letters to those of ASCII. */
const fold = (name: string) => name.toUpperCase().toLowerCase();

/** The members that decide on a call, by their folded names. */
const READ = new Map(
  [
    ...["model", "models", "fallbacks", "stream", "stream_options", "include_usage", "background", "n"],
    ...["max_tokens", "max_completion_tokens", "max_output_tokens", "service_tier", "speed", "inference_geo"],
  ].map((name) => [fold(name), name]),
);

/** The most members of a request, and of those in it that are read, and the longest name: providers know some fifty. */
const MAX_MEMBERS = 1_000;
const MAX_NAME_BYTES = 1_000;

/**
 * Returns the reason that parsers may read a request in different ways: a name stands twice, also in another case; or a name that
 * decides on the call stands in another case only, which some servers accept.
 */
export function findAmbiguity(
  bytes: Uint8Array,
  within: ReadonlySet<string> = READ_WITHIN,
): string | undefined {
  const seen = new Set<string>();
  for (const { name, start, end } of membersOf(bytes)) {
    if (seen.size >= MAX_MEMBERS) return `more than ${MAX_MEMBERS} fields`;
    if (name === undefined) return `a field whose name is over ${MAX_NAME_BYTES} bytes`;
    const folded = fold(name);
    const meant = READ.get(folded);
    const shown = name.slice(0, 80);
    if (seen.has(folded)) return `"${shown}" twice, of which the provider might take the other one`;
    if (meant !== undefined && meant !== name) return `"${shown}", which some providers take for "${meant}"`;
    seen.add(folded);
    const inner = within.has(name) && bytes[start] === OPEN &&
      findAmbiguity(bytes.subarray(start, end), NOTHING);
    if (inner) return inner;
  }
  return undefined;
}

/** Returns the place of a member's value. */
function findMember(bytes: Uint8Array, wanted: string): { start: number; end: number } | undefined {
  for (const member of membersOf(bytes)) if (member.name === wanted) return member;
  return undefined;
}

/** Yields the members of an object: their names, undefined for a very long one, and the places of their values. */
function* membersOf(bytes: Uint8Array): Generator<{ name: string | undefined; start: number; end: number }> {
  let at = skipBlanks(bytes, bytes.indexOf(OPEN) + 1);
  while (at < bytes.length && bytes[at] === QUOTE) {
    const endOfName = endOfString(bytes, at);
    const isLong = endOfName - at > MAX_NAME_BYTES;
    const name = isLong ? undefined : JSON.parse(decoder.decode(bytes.subarray(at, endOfName)));
    const start = skipBlanks(bytes, skipBlanks(bytes, endOfName) + 1); // past the colon
    const end = endOfValue(bytes, start);
    yield { name, start, end };
    at = skipBlanks(bytes, end);
    if (bytes[at] === COMMA) at = skipBlanks(bytes, at + 1);
  }
}

function skipBlanks(bytes: Uint8Array, at: number): number {
  while (at < bytes.length && bytes[at]! <= 0x20) at++;
  return at;
}

function endOfValue(bytes: Uint8Array, at: number): number {
  for (let depth = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = endOfString(bytes, at) - 1;
      if (depth === 0) return at + 1;
    } else if (byte === OPEN || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 0) return at; // of the object around a number or a literal
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (byte === COMMA || byte <= 0x20)) return at;
  }
  return at;
}

const decoder = new TextDecoder();
const encode = (text: string) => new TextEncoder().encode(text);

/** Joins parts to one array of bytes. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
