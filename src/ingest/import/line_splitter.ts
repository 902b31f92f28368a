import { Buffer } from "node:buffer";

/** Options of `LineSplitter`. */
export interface SplitOptions {
  /** Texts of ASCII: lines that contain none of them are passed over; without any, every line is taken. */
  markers?: readonly string[];
  /** Longer lines are not held in memory. */
  maxLineBytes: number;
  onLine(text: string): void;
  /** A line that would be taken, but is too long. */
  onLongLine(): void;
}

const LINE_FEED = 10;

/**
 * Splits bytes into lines at line feeds. Markers are searched in the bytes, as text of one byte a character, and only lines
 * that have one are decoded. A line without its line feed waits for it.
 */
export class LineSplitter {
  readonly #options: SplitOptions;
  readonly #decoder = new TextDecoder();
  /** Finds the markers. */
  readonly #pattern: RegExp | undefined;
  /** The beginning of a line whose end hasn't come yet. */
  #parts: Uint8Array[] = [];
  #partBytes = 0;
  /** The line that is passed over for its length: the bytes that were dropped, and whether one of them had a marker. */
  #dropped: { bytes: number; hasMarker: boolean } | undefined;

  constructor(options: SplitOptions) {
    this.#options = options;
    const markers = options.markers ?? [];
    // One search for all of them takes half the time of one for each: a tenth of the first import.
    if (markers.length > 0) {
      this.#pattern = new RegExp(
        markers.map((marker) => marker.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|"),
        "g",
      );
    }
  }

  /** The bytes after the last line feed. */
  get openBytes(): number {
    return this.#partBytes + (this.#dropped?.bytes ?? 0);
  }

  /** Takes the next bytes; the caller may use their memory again afterwards. */
  push(bytes: Uint8Array): void {
    let from = 0;
    if (this.openBytes > 0) {
      const end = bytes.indexOf(LINE_FEED);
      if (end < 0) return this.#hold(bytes);
      this.#hold(bytes.subarray(0, end));
      this.#endHeldLine();
      from = end + 1;
    }
    const to = bytes.lastIndexOf(LINE_FEED) + 1;
    if (to > from) this.#splitLines(bytes.subarray(from, to));
    if (bytes.length > Math.max(from, to)) this.#hold(bytes.subarray(Math.max(from, to)));
  }

  #splitLines(bytes: Uint8Array): void {
    const { onLine, onLongLine, maxLineBytes } = this.#options;
    const pattern = this.#pattern;
    const text = textOfBytes(bytes);
    for (let from = 0; from < text.length;) {
      let marker = from;
      if (pattern) {
        pattern.lastIndex = from;
        if (!pattern.test(text)) return;
        marker = pattern.lastIndex - 1;
        // The lines before the one with the marker are passed over together.
        from = text.lastIndexOf("\n", marker) + 1;
      }
      const end = text.indexOf("\n", marker);
      if (end - from > maxLineBytes) onLongLine();
      else if (end > from) onLine(this.#decode(bytes.subarray(from, end)));
      from = end + 1;
    }
  }

  #hold(bytes: Uint8Array): void {
    if (this.#dropped === undefined && this.#partBytes + bytes.length <= this.#options.maxLineBytes) {
      this.#parts.push(bytes.slice());
      this.#partBytes += bytes.length;
      return;
    }
    // Of a line that is too long only enough is kept to find a marker that is divided between two pieces.
    const overlap = Math.max(1, ...(this.#options.markers ?? []).map(({ length }) => length - 1));
    const start = concat([...this.#parts, bytes.subarray(0, overlap)]);
    const dropped = this.#dropped ?? { bytes: 0, hasMarker: false };
    dropped.hasMarker ||= this.#hasMarker(start) || this.#hasMarker(bytes);
    const kept = bytes.length >= overlap
      ? bytes.slice(-overlap)
      : concat([...this.#parts, bytes]).slice(-overlap);
    dropped.bytes += this.#partBytes + bytes.length - kept.length;
    [this.#parts, this.#partBytes, this.#dropped] = [[kept], kept.length, dropped];
  }

  #endHeldLine(): void {
    const { onLine, onLongLine } = this.#options;
    const dropped = this.#dropped;
    const line = concat(this.#parts);
    [this.#parts, this.#partBytes, this.#dropped] = [[], 0, undefined];
    if (dropped) {
      if (dropped.hasMarker) onLongLine();
    } else if (line.length > 0 && this.#hasMarker(line)) onLine(this.#decode(line));
  }

  #hasMarker(bytes: Uint8Array): boolean {
    return this.#pattern === undefined || textOfBytes(bytes).search(this.#pattern) >= 0;
  }

  #decode(line: Uint8Array): string {
    const end = line.at(-1) === 13 ? line.length - 1 : line.length;
    return this.#decoder.decode(line.subarray(0, end));
  }
}

/** Returns bytes as text of one byte a character, in which search is as fast as the machine's. */
function textOfBytes({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, length).toString("latin1");
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
