import { inTurns, type Turns } from "../turns.ts";
import { endOfString } from "./json_bytes.ts";

const [QUOTE, COMMA, OPEN, CLOSE] = [0x22, 0x2c, 0x7b, 0x7d];

/** The bytes of members that are parsed at once, and after which others get their turn. */
const PART_BYTES = 32 * 1024;

/** The most bytes of a text that is neither an object nor a list. */
const MAX_SCALAR_BYTES = 1024 * 1024;

/** The most containers within each other. */
const MAX_DEPTH = 10_000;

/** A container that is open. */
interface Frame {
  isList: boolean;
  /** The beginning of the members that are not parsed yet; undefined while the next one has not begun. */
  from: number | undefined;
  /** The beginning of the last one. */
  lastFrom: number;
  /** The members that have been parsed, where they are more than one part. */
  parsed: unknown[] | Record<string, unknown> | undefined;
}

/**
 * Parses a JSON text (UTF-8) of any size in slices, but each string at once. The values are those of `JSON.parse()`, which parses
 * the parts; a text that is not JSON may be taken for one.
 *
 * @throws {SyntaxError} a part is not JSON
 */
export function parseInTurns(bytes: Uint8Array, turns: Turns): Promise<unknown> {
  return inTurns(turns, parseParts(bytes));
}

function* parseParts(bytes: Uint8Array): Generator<number, unknown> {
  const frames: Frame[] = [];
  let frame: Frame | undefined;
  let at = 0;
  while (bytes[at]! <= 0x20) at++;
  if (((bytes[at] ?? 0) | 0x20) !== OPEN) {
    return JSON.parse(decoder.decode(bytes.subarray(0, MAX_SCALAR_BYTES)));
  }
  while (at < bytes.length) {
    const from = at;
    const end = Math.min(bytes.length, at + PART_BYTES);
    for (; at < end; at++) {
      const byte = bytes[at]!;
      const bracket = byte | 0x20; // [ and { differ by it, and so do ] and }
      if (byte === QUOTE) at = endOfString(bytes, at) - 1;
      else if (byte === COMMA) {
        if (!frame) throw new SyntaxError("a comma after the end");
        if (frame.from === undefined) frame.from = at + 1;
        else if (at - frame.from >= PART_BYTES) {
          parseAround(bytes, frames);
          addMembers(bytes, frame, at);
          frame.from = at + 1;
        }
        frame.lastFrom = at + 1;
      } else if (bracket === OPEN) {
        if (frames.length === MAX_DEPTH) throw new SyntaxError(`more than ${MAX_DEPTH} levels`);
        frames.push(frame = { isList: byte !== OPEN, from: at + 1, lastFrom: at + 1, parsed: undefined });
      } else if (bracket === CLOSE && frame) {
        const { parsed }: Frame = frame;
        if (parsed) addMembers(bytes, frame, at);
        frames.pop();
        frame = frames.at(-1);
        if (!parsed) continue; // it is in the part of the container around it
        if (!frame) return parsed;
        addMember(bytes, frame, parsed);
        frame.from = undefined;
      }
    }
    yield at - from;
  }
  return JSON.parse(decoder.decode(bytes)); // it is one part
}

/** Parses what the open containers have before the one that is open in them. */
function parseAround(bytes: Uint8Array, frames: readonly Frame[]): void {
  for (const frame of frames) {
    // Without a prototype, also the name __proto__ is one of a member.
    frame.parsed ??= frame.isList ? [] : Object.create(null) as Record<string, unknown>;
    if (frame === frames.at(-1) || frame.from === undefined || frame.from === frame.lastFrom) continue;
    addMembers(bytes, frame, frame.lastFrom - 1);
    frame.from = frame.lastFrom;
  }
}

/** Parses the members of a container from its `from` up to a comma or its end. */
function addMembers(bytes: Uint8Array, { parsed, from }: Frame, end: number): void {
  if (from === undefined) return;
  const text = decoder.decode(bytes.subarray(from, end));
  if (Array.isArray(parsed)) { for (const item of JSON.parse(`[${text}]`)) parsed.push(item); }
  else Object.assign(parsed!, JSON.parse(`{${text}}`));
}

/** Adds the last member of a container, whose value is parsed; its name is parsed here. */
function addMember(bytes: Uint8Array, { parsed, lastFrom }: Frame, value: unknown): void {
  if (Array.isArray(parsed)) return void parsed.push(value);
  const quote = bytes.indexOf(QUOTE, lastFrom);
  parsed![JSON.parse(decoder.decode(bytes.subarray(quote, endOfString(bytes, quote))))] = value;
}

const decoder = new TextDecoder();
