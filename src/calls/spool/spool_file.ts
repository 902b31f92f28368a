import { createHash } from "node:crypto";
import { files, type OpenFile } from "../../kernel/files/files.ts";

/*
 * The format of a spool: a header of 16 bytes, then records one after the other, then zeros. A record is one byte for its
 * state, the length of its content (4 bytes, big-endian), the first 8 bytes of the SHA-256 of its content, and the content.
 */

const HEADER = new TextEncoder().encode("purser spool 1\n\n");
const STATE = { end: 0, waiting: 1, done: 2 } as const;
const DIGEST_BYTES = 8;
const HEAD_BYTES = 1 + 4 + DIGEST_BYTES;

/** A record that waits, and its position in the file. */
export interface SpoolRecord {
  position: number;
  content: Uint8Array;
}

/** The content of a spool. */
export interface SpoolContent {
  /** The records that wait, in order. */
  records: SpoolRecord[];
  /** True if other bytes are between or after the records: a call may be lost. */
  isDamaged: boolean;
}

/**
 * Reads the bytes of a spool. What is damaged or incomplete is skipped: the records after it were acknowledged, too.
 *
 * @throws {Error} the file is not a spool, or of another version
 */
export function readRecords(bytes: Uint8Array): SpoolContent {
  const records: SpoolRecord[] = [];
  let isDamaged = false;
  if (HEADER.some((byte, index) => bytes[index] !== byte)) {
    if (bytes.every((byte) => byte === 0)) return { records, isDamaged }; // its process ended while it made it
    throw new Error("it is not a spool of this version of Purser");
  }
  for (let position = HEADER.length; position < bytes.length;) {
    const end = endOfRecord(bytes, position);
    if (end === undefined) {
      if (bytes[position] === STATE.end && !isDamaged) break;
      isDamaged = true;
      position++;
      continue;
    }
    if (bytes[position] === STATE.waiting) {
      records.push({ position, content: bytes.subarray(position + HEAD_BYTES, end) });
    }
    position = end;
  }
  return { records, isDamaged };
}

/** Returns the end of the record at a position; undefined if it is damaged, or not a record. */
function endOfRecord(bytes: Uint8Array, position: number): number | undefined {
  const state = bytes[position];
  const start = position + HEAD_BYTES;
  if ((state !== STATE.waiting && state !== STATE.done) || start > bytes.length) return undefined;
  const end = start + new DataView(bytes.buffer, bytes.byteOffset).getUint32(position + 1);
  if (end > bytes.length) return undefined;
  const digest = bytes.subarray(position + 1 + 4, start);
  return digestOf(bytes.subarray(start, end)).every((byte, index) => byte === digest[index])
    ? end
    : undefined;
}

function digestOf(content: Uint8Array): Uint8Array {
  return createHash("sha256").update(content).digest().subarray(0, DIGEST_BYTES);
}

function encodeRecord(content: Uint8Array): Uint8Array {
  const record = new Uint8Array(HEAD_BYTES + content.length);
  record[0] = STATE.waiting;
  new DataView(record.buffer).setUint32(1, content.length);
  record.set(digestOf(content), 1 + 4);
  record.set(content, HEAD_BYTES);
  return record;
}

interface Append {
  record: Uint8Array;
  resolve(position: number): void;
  reject(error: unknown): void;
}

/** The step in which a spool grows. */
const GROWTH_BYTES = 128 * 1024;

/**
 * A spool that is open for writing. Its space is written with zeros ahead of its records, so that a full disk doesn't prevent
 * them. Records that are written at the same time share one flush.
 */
export class SpoolFile {
  #capacity = 0;
  #closed: Promise<void> | undefined;
  #end = HEADER.length;
  /** The last task; tasks on the file run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting: Append[] = [];

  private constructor(private readonly file: OpenFile) {}

  /** Creates a spool, with its first space. */
  static async create(path: string): Promise<SpoolFile> {
    const file = await files.createFile(path);
    const spool = new SpoolFile(file);
    try {
      await spool.#grow(GROWTH_BYTES);
      await file.write(HEADER, 0);
      await file.sync();
      return spool;
    } catch (error) {
      await file.close();
      await files.remove(path).catch(() => {});
      throw error;
    }
  }

  /** The bytes that are left for records. */
  get freeBytes(): number {
    return this.#capacity - this.#end;
  }

  /** Makes room for records of so many bytes. */
  reserve(bytes: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.freeBytes < bytes) await this.#grow(bytes - this.freeBytes);
    });
  }

  /** Writes a record; resolves with its position once it is on the disk. */
  append(content: Uint8Array): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record: encodeRecord(content), resolve, reject });
      if (this.#waiting.length === 1) void this.#inTurn(() => this.#write(this.#waiting.splice(0)));
    });
  }

  /** Marks a record as done. A mark that is lost does no harm: its call is in the ledger. */
  markDone(position: number): Promise<void> {
    return this.#inTurn(() => this.file.write(new Uint8Array([STATE.done]), position));
  }

  /** Begins anew, once all records are done. */
  clear(): Promise<void> {
    return this.#inTurn(async () => {
      await this.file.write(new Uint8Array([STATE.end]), HEADER.length);
      this.#end = HEADER.length;
    });
  }

  /** Closes the file once, however often it is called. */
  close(): Promise<void> {
    return this.#closed ??= this.#inTurn(() => this.file.close());
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task);
    this.#last = done.catch(() => {});
    return done;
  }

  async #write(group: readonly Append[]): Promise<void> {
    try {
      const bytes = new Uint8Array(group.reduce((sum, { record }) => sum + record.length, 0) + 1); // with an end
      if (this.freeBytes < bytes.length) await this.#grow(bytes.length);
      const positions: number[] = [];
      let offset = 0;
      for (const { record } of group) {
        positions.push(this.#end + offset);
        bytes.set(record, offset);
        offset += record.length;
      }
      await this.file.write(bytes, this.#end);
      await this.file.sync();
      this.#end += offset;
      group.forEach(({ resolve }, index) => resolve(positions[index]!));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  async #grow(bytes: number): Promise<void> {
    const more = Math.ceil(bytes / GROWTH_BYTES) * GROWTH_BYTES;
    await this.file.write(new Uint8Array(more), this.#capacity);
    await this.file.sync();
    this.#capacity += more;
  }
}
