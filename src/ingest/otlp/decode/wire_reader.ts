import { msOfNanos } from "./decoded.ts";
import { PurserError } from "../../../kernel/errors.ts";

/** The wire types of protobuf. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The most bytes of a text that is kept for the next ones that are the same. */
const MAX_KEPT_BYTES = 64;
/** The number of texts that are kept: a power of two. */
const KEPT_TEXTS = 1024;

/** The most fields of a body that are skipped: they are, without a pause. */
const MAX_SKIPPED = 1_000_000;

/** Texts by their bytes: an export repeats the names of its attributes, and many values, in every record. */
class KeptTexts {
  readonly #texts = new Array<string>(KEPT_TEXTS);
  readonly #bytes = new Array<Uint8Array>(KEPT_TEXTS);

  read(bytes: Uint8Array, start: number, end: number): string {
    let hash = end - start;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    const place = (hash ^ (hash >>> 15)) & (KEPT_TEXTS - 1);
    const kept = this.#bytes[place];
    if (kept?.length === end - start) {
      let same = 0;
      while (same < kept.length && kept[same] === bytes[start + same]) same++;
      if (same === kept.length) return this.#texts[place]!;
    }
    this.#bytes[place] = bytes.slice(start, end);
    return this.#texts[place] = decoder.decode(this.#bytes[place]);
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const names = new KeptTexts();
const values = new KeptTexts();

/** The codes of the hex digits, and those of an id that is read. */
const DIGITS = [..."0123456789abcdef"].map((digit) => digit.charCodeAt(0));
const CODES = { 8: new Array<number>(16).fill(0), 16: new Array<number>(32).fill(0) };

/**
 * Reads the wire format of protobuf (https://protobuf.dev/programming-guides/encoding/), each message by a loop of its own over the
 * tags of its fields. Messages end where their length says; a field that reaches beyond that is refused.
 */
export class WireReader {
  at = 0;
  /** The number of values that may still be read of a record: who reads values counts them. */
  valuesLeft = 0;
  #skipsLeft = MAX_SKIPPED;
  readonly #view: DataView;

  constructor(readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Reads an unsigned varint, of which the lower 32 bits count. */
  uint32(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; shift < 70; shift += 7) {
      byte = bytes[this.at++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) return value >>> 0;
    }
    throw malformed("a number has more than 10 bytes");
  }

  /** Reads a signed varint; beyond 2^53 as a bigint. */
  int64(): number | bigint {
    const start = this.at;
    let [low, middle, high] = [0, 0, 0];
    for (let index = 0; index < 10; index++) {
      const byte = this.bytes[this.at++]!;
      const bits = byte & 0x7f;
      if (index < 4) low |= bits << (7 * index);
      else if (index < 8) middle |= bits << (7 * (index - 4));
      else high |= bits << (7 * (index - 8));
      if (byte >= 0x80) continue;
      if (high === 0 && middle < 2 ** 25) return middle * 2 ** 28 + low;
      const value = BigInt.asIntN(64, BigInt(high) << 56n | BigInt(middle) << 28n | BigInt(low));
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    }
    throw malformed(`the number at byte ${start} has more than 10 bytes or breaks off`);
  }

  double(): number {
    this.#advance(8);
    return this.#view.getFloat64(this.at - 8, true);
  }

  /** Reads a time in nanoseconds since the epoch; returns it in milliseconds, NaN for 0. */
  time(): number {
    this.#advance(8);
    const low = this.#view.getUint32(this.at - 8, true);
    const high = this.#view.getUint32(this.at - 4, true);
    return msOfNanos(high * 2 ** 32 + low);
  }

  /** Reads the length of a field within a message that ends at `end`; returns the field's end. */
  endOfField(end: number): number {
    const length = this.uint32();
    if (length > end - this.at) {
      throw malformed(`the field at byte ${this.at} is longer than what is around it`);
    }
    return this.at + length;
  }

  /** Reads a text. What isn't UTF-8 in it is replaced: exporters cut long texts within a character. */
  text(end: number): string {
    return this.#text(values, end);
  }

  /** Reads the name of an attribute. */
  name(end: number): string {
    return this.#text(names, end);
  }

  #text(kept: KeptTexts, end: number): string {
    const textEnd = this.endOfField(end);
    const start = this.at;
    this.at = textEnd;
    if (textEnd - start <= MAX_KEPT_BYTES) return kept.read(this.bytes, start, textEnd);
    return decoder.decode(this.bytes.subarray(start, textEnd));
  }

  /** Reads an id of so many bytes in lower-case hex; `''` for one of another length, or of zeros. */
  id(bytes: 8 | 16, end: number): string {
    const idEnd = this.endOfField(end);
    const start = this.at;
    this.at = idEnd;
    if (idEnd - start !== bytes) return "";
    // Added up digit by digit, a text would be a tree of its parts.
    const codes = CODES[bytes];
    let sum = 0;
    for (let index = 0; index < bytes; index++) {
      const byte = this.bytes[start + index]!;
      sum |= byte;
      codes[2 * index] = DIGITS[byte >> 4]!;
      codes[2 * index + 1] = DIGITS[byte & 15]!;
    }
    return sum === 0 ? "" : String.fromCharCode.apply(null, codes);
  }

  /** Skips a field of a wire type. */
  skip(wireType: number, end: number): void {
    if (wireType === WIRE.varint) this.uint32();
    else if (wireType === WIRE.bytes) this.at = this.endOfField(end);
    else if (wireType === WIRE.fixed64) this.#advance(8);
    else if (wireType === WIRE.fixed32) this.#advance(4);
    else throw malformed(`byte ${this.at} begins no field`);
    this.countSkip();
  }

  /** Skips a value of which too many came before it. */
  skipTo(end: number): void {
    this.at = end;
    this.countSkip();
  }

  /** Counts a field without content: so many of them take their time. */
  countSkip(): void {
    if (--this.#skipsLeft < 0) throw malformed(`it has more than ${MAX_SKIPPED} fields that are not read`);
  }

  /** Checks that a message was read up to its end. */
  finish(end: number): void {
    if (this.at !== end) throw malformed(`a message breaks off at byte ${end}`);
  }

  #advance(bytes: number): void {
    this.at += bytes;
    if (this.at > this.bytes.length) throw malformed("it breaks off");
  }
}

/** Returns the error for bytes that are not the protocol's. */
export function malformed(reason: string): PurserError {
  return new PurserError("invalid", `Cannot read the body as protobuf: ${reason}`);
}
