import { PurserError } from "../errors.ts";
import { inTurns, type Turns } from "../turns.ts";

/*
 * Bounds the time of parsing a JSON text, and of walking what it holds, before that is done in one piece. Measured with V8 15 of
 * Deno 2.9.6: a value takes 0.03 to 0.1 µs, a field name that no object has had at its place 1 µs (a new shape of objects), a
 * short string that is new as much (it is interned), an escape 0.02 µs.
 */

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/** The units of work of a value, beside which a new word counts as so many, and an escape and a byte as a part. */
const NEW_WORD = 10;
const ESCAPES_PER_UNIT = 8;
const BYTES_PER_UNIT = 32;

/** The most units that a byte can have: a new word of a character, with its quotes and a comma. */
const MOST_PER_BYTE = 3;

/** Longer strings are not interned. */
const SHORT_STRING_BYTES = 16;

/** The bytes that are looked at in one piece. */
const SLICE_BYTES = 128 * 1024;

/** The units of `Turns` for looking at so many bytes. */
const SLICE_TURN = 16 * 1024;

/**
 * Mixed into hashes, so that no client can choose names with the same hash. Chosen late: an edge has no randomness before a
 * request.
 */
let seed: number | undefined;

/**
 * Returns the units of work of a JSON text (UTF-8): one for each value, ten for each new word, which is a field name that no
 * object has had after the same names or a short string, and one for 8 escapes or 32 bytes that are not in strings. Infinity for
 * more than `max`; texts that are too short for that count as 0.
 */
export async function measureJson(bytes: Uint8Array, max: number, turns?: Turns): Promise<number> {
  if (bytes.length * MOST_PER_BYTE <= max) return 0;
  return await inTurns(turns, measure(new JsonScan(bytes), max));
}

/** The same for a request's body. Throws `too_large` for one of more than `max`. */
export async function measureBody(bytes: Uint8Array, max: number, turns?: Turns): Promise<number> {
  const work = await measureJson(bytes, max, turns);
  if (work <= max) return work;
  throw new PurserError(
    "too_large",
    `Cannot read the body: it has more than ${max} values, where a new field name or short text counts as ten more; ` +
      "send it in parts",
  );
}

function* measure(scan: JsonScan, max: number): Generator<number, number> {
  while (!scan.isDone) {
    scan.advance(SLICE_BYTES);
    if (scan.work > max) return Infinity;
    yield SLICE_TURN;
  }
  return scan.work;
}

class JsonScan {
  #at = 0;
  #values = 1;
  #newWords = 0;
  #escapes = 0;
  /** The bytes in strings. */
  #quoted = 0;
  /** The start of the string that is being read, or was the last one: its end decides whether it is a name. */
  #start = 0;
  #hash = 0;
  #isInString = false;
  #isString = false;
  /** The hash of the names that the innermost object has had so far, and those of the containers around it. */
  #shape = 0;
  readonly #around: number[] = [];
  readonly #words = new Set<number>();
  readonly #seed = seed ??= crypto.getRandomValues(new Int32Array(1))[0]!;

  constructor(readonly bytes: Uint8Array) {}

  get isDone(): boolean {
    return this.#at >= this.bytes.length;
  }

  get work(): number {
    return this.#values + NEW_WORD * this.#newWords + Math.floor(this.#escapes / ESCAPES_PER_UNIT) +
      Math.floor(Math.max(0, this.#at - this.#quoted) / BYTES_PER_UNIT);
  }

  /** Looks at so many bytes more. */
  advance(count: number): void {
    const { bytes } = this;
    const end = Math.min(bytes.length, this.#at + count);
    let at = this.#isInString ? this.#readString(this.#at, end) : this.#at;
    while (at < end) {
      const byte = bytes[at++];
      if (byte === QUOTE) {
        this.#start = at;
        this.#hash = this.#seed;
        at = this.#readString(at, end);
      } else if (byte === COLON) {
        this.#isString = false;
        this.#shape = Math.imul(this.#shape ^ this.#hash, 0x5bd1e995) ^ (this.#hash >>> 15);
        this.#countWord(this.#shape);
      } else if (byte === COMMA) {
        this.#values++;
        this.#endValue();
      } else if (byte === OPEN || byte === OPEN_LIST) {
        this.#values++;
        this.#around.push(this.#shape);
        this.#shape = this.#seed;
      } else if (byte === CLOSE || byte === CLOSE_LIST) {
        this.#endValue();
        this.#shape = this.#around.pop() ?? 0;
      }
    }
    this.#at = at;
  }

  /** Reads a string up to its end, or to that of the slice. */
  #readString(from: number, end: number): number {
    const { bytes } = this;
    let hash = this.#hash;
    let at = from;
    let byte: number | undefined;
    for (; at < end; at++) {
      byte = bytes[at];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        this.#escapes++;
        hash = Math.imul(hash ^ bytes[++at]!, 0x01000193);
      }
      hash = Math.imul(hash ^ byte!, 0x01000193);
    }
    this.#quoted += at - from;
    this.#hash = hash;
    this.#isInString = at >= end;
    if (this.#isInString) return at;
    this.#isString = at - this.#start <= SHORT_STRING_BYTES;
    return at + 1;
  }

  /** Ends a value: a short string is a word, wherever it stands. */
  #endValue(): void {
    if (!this.#isString) return;
    this.#isString = false;
    this.#countWord(this.#hash);
  }

  #countWord(hash: number): void {
    if (this.#words.has(hash)) return;
    this.#words.add(hash);
    this.#newWords++;
  }
}
