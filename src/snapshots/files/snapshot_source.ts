import { PurserError } from "../../kernel/errors.ts";
import { readChunks, sizeOfFile as sizeOf } from "../../kernel/files/read_chunks.ts";

/** The source of a snapshot's bytes: the path of a file, or an open stream. */
export type SnapshotSource = string | AsyncIterable<Uint8Array>;

const GZIP_MAGIC = [0x1f, 0x8b];

const WHAT = "the snapshot";

/** Reads the bytes of a snapshot's file unchanged; see `readChunks`. */
export const readFile = (path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> => readChunks(path, WHAT);

/** Returns the size of a snapshot's file in bytes, if it is known in advance. */
export const sizeOfFile = (path: string): Promise<number | undefined> => sizeOf(path, WHAT);

/** Detects gzip by the first bytes of a stream, and returns the whole stream. */
export async function peekGzip<Bytes extends Uint8Array>(
  stream: AsyncIterable<Bytes>,
): Promise<{ isGzip: boolean; stream: AsyncGenerator<Bytes> }> {
  const chunks = stream[Symbol.asyncIterator]();
  const first: Bytes[] = [];
  let size = 0;
  while (size < GZIP_MAGIC.length) {
    const { done, value } = await chunks.next();
    if (done) break;
    first.push(value);
    size += value.length;
  }
  const head = first.flatMap((chunk) => [...chunk.subarray(0, GZIP_MAGIC.length)]);
  return {
    isGzip: GZIP_MAGIC.every((byte, index) => head[index] === byte),
    stream: (async function* () {
      try {
        yield* first;
        for (;;) {
          const { done, value } = await chunks.next();
          if (done) return;
          yield value;
        }
      } finally {
        await chunks.return?.();
      }
    })(),
  };
}

/** Decompresses a gzip stream. Throws `invalid` where it is damaged or truncated. */
export async function* gunzip(
  stream: AsyncIterable<Uint8Array>,
  what = WHAT,
): AsyncGenerator<Uint8Array> {
  const source = ReadableStream.from(stream as AsyncIterable<Uint8Array<ArrayBuffer>>);
  try {
    yield* source.pipeThrough(new DecompressionStream("gzip"));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new PurserError("invalid", `Cannot read ${what}: it is damaged or truncated gzip`, {
      details: { issues: [{ path: "", message: "is damaged or truncated gzip" }] },
      cause: error,
    });
  }
}

/** Opens a source and decompresses gzip. */
export async function openSource(source: SnapshotSource): Promise<AsyncIterable<Uint8Array>> {
  const { isGzip, stream } = await peekGzip(typeof source === "string" ? readFile(source) : source);
  return isGzip ? gunzip(stream) : stream;
}
