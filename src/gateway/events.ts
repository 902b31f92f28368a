/* Splits the bytes of a stream into its events, and changes none of the bytes. */

/** One event of a stream: its bytes with the separator at their end, and its data. */
export interface Piece {
  bytes: Uint8Array<ArrayBuffer>;
  /** The data of a server-sent event, or one object of a list; empty for a large one, undefined for an event without data. */
  data: string | undefined;
  /** The data of a large event, which takes long to parse. */
  large?: Uint8Array;
}

/** The size from which on data is large. */
const LARGE_BYTES = 256 * 1024;

/** Splits a stream that arrives in chunks. */
export interface Splitter {
  /** Returns the pieces that are complete with this chunk. */
  push(chunk: Uint8Array<ArrayBuffer>): Piece[];
  /** Returns what is left at the end of the stream; empty where nothing is. */
  rest(): Uint8Array<ArrayBuffer>;
}

const [LF, CR] = [0x0a, 0x0d];

/** The largest event that is held back until it is complete. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

const NO_BYTES = new Uint8Array(0);

/** The bytes of a piece that is not complete. A large one comes in many chunks, so each is copied a few times only. */
class HeldBytes {
  bytes: Uint8Array<ArrayBuffer> = NO_BYTES;
  /** True if this object has allocated the buffer behind the bytes, and so may write at its end. */
  #isOwn = false;

  /** Adds a chunk, and returns all bytes. */
  join(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const size = this.bytes.length;
    if (size === 0) {
      this.#isOwn = false;
      return this.bytes = chunk;
    }
    const end = size + chunk.length;
    if (!this.#isOwn || this.bytes.buffer.byteLength < end) {
      const larger = new Uint8Array(Math.max(end, 2 * size));
      larger.set(this.bytes);
      this.bytes = larger;
      this.#isOwn = true;
    }
    this.bytes = new Uint8Array(this.bytes.buffer, 0, end);
    this.bytes.set(chunk, size);
    return this.bytes;
  }

  /** Removes bytes from the beginning. They are not overwritten, since events refer to them. */
  drop(count: number): void {
    if (count === 0) return;
    // Mostly a chunk ends with an event.
    this.bytes = count === this.bytes.length ? NO_BYTES : this.bytes.slice(count);
    this.#isOwn = true;
  }
}

/** Splits server-sent events, which end at a blank line: by LF, CR LF or CR. */
export function splitEvents(): Splitter {
  const held = new HeldBytes();
  let searched = 0;
  return {
    push(chunk) {
      const bytes = held.join(chunk);
      const pieces: Piece[] = [];
      let start = 0;
      for (let at = searched;;) {
        const end = endOfEvent(bytes, at);
        if (end === undefined) break;
        pieces.push(toPiece(bytes.subarray(start, end)));
        start = at = end;
      }
      held.drop(start);
      // A line break at the end may be the first of the two.
      searched = Math.max(0, held.bytes.length - 3);
      if (held.bytes.length > MAX_EVENT_BYTES) {
        throw new Error("an event of the stream is larger than 64 MiB");
      }
      return pieces;
    },
    rest: () => held.bytes,
  };
}

/** Returns the end of the first blank line from a position on; undefined while none is complete. */
function endOfEvent(bytes: Uint8Array, from: number): number | undefined {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte !== LF && byte !== CR) continue;
    const next = afterBreak(bytes, at);
    if (next === undefined) return undefined;
    const second = bytes[next];
    if (second === LF || second === CR) {
      const end = afterBreak(bytes, next);
      // A CR at the very end may be followed by its LF, which then begins the next event, harmlessly.
      return end ?? next + 1;
    }
    at = next - 1;
  }
  return undefined;
}

/** Returns the position after a line break; undefined for a CR whose LF may still come. */
function afterBreak(bytes: Uint8Array, at: number): number | undefined {
  if (bytes[at] === LF) return at + 1;
  if (at + 1 >= bytes.length) return undefined;
  return bytes[at + 1] === LF ? at + 2 : at + 1;
}

/** Returns an event of server-sent events with its data. */
export function toPiece(event: Uint8Array<ArrayBuffer>): Piece {
  if (event.length < LARGE_BYTES) return { bytes: event, data: dataOf(event) };
  // Its data is one line, after that of its name; several lines have to be joined.
  for (let start = 0; start < event.length;) {
    const lf = event.indexOf(LF, start);
    const cr = event.subarray(start, lf === -1 ? event.length : lf).indexOf(CR);
    const end = cr !== -1 ? start + cr : lf !== -1 ? lf : event.length;
    if (DATA.every((byte, index) => event[start + index] === byte)) {
      if (dataOf(event.subarray(end)) !== undefined) break;
      return { bytes: event, data: "", large: event.subarray(start + DATA.length, end) };
    }
    start = end + 1;
  }
  return { bytes: event, data: "", large: encoder.encode(dataOf(event)) };
}

const encoder = new TextEncoder();
const DATA = encoder.encode("data:");

const decoder = new TextDecoder();

/** Returns the data of an event; undefined for a comment and for an event without any. */
function dataOf(event: Uint8Array): string | undefined {
  let data: string | undefined;
  for (const line of decoder.decode(event).split(/\r\n|\n|\r/)) {
    if (!line.startsWith("data:")) continue;
    const value = line.slice(line[5] === " " ? 6 : 5);
    data = data === undefined ? value : `${data}\n${value}`;
  }
  return data;
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];

/** Splits a list of JSON objects, as Gemini streams them without `alt=sse`: each piece ends with its object. */
export function splitList(): Splitter {
  const held = new HeldBytes();
  let at = 0;
  let depth = 0;
  let begin = 0;
  let isInString = false;
  return {
    push(chunk) {
      const bytes = held.join(chunk);
      const pieces: Piece[] = [];
      let start = 0;
      for (; at < bytes.length; at++) {
        const byte = bytes[at];
        if (isInString) {
          if (byte === BACKSLASH) at++;
          else if (byte === QUOTE) isInString = false;
        } else if (byte === QUOTE) isInString = true;
        else if (byte === OPEN) {
          if (depth++ === 0) begin = at;
        } else if (byte === CLOSE && --depth === 0) {
          const data = bytes.subarray(begin, at + 1);
          const isLarge = data.length >= LARGE_BYTES;
          pieces.push({
            bytes: bytes.subarray(start, at + 1),
            ...(isLarge ? { data: "", large: data } : { data: decoder.decode(data) }),
          });
          start = at + 1;
        }
      }
      held.drop(start);
      at -= start;
      begin -= start;
      if (held.bytes.length > MAX_EVENT_BYTES) throw new Error("a part of the list is larger than 64 MiB");
      return pieces;
    },
    rest: () => held.bytes,
  };
}
