import { Buffer } from "node:buffer";

type Bytes = Uint8Array<ArrayBuffer>;

/** Reads bytes part by part: the reader of a web stream, or an object with its methods that takes less time for each part. */
export interface ByteReader {
  /** Resolves with the next part, or with the end. Rejects when the bytes break off. */
  read(): Promise<IteratorYieldResult<Bytes> | { done: true; value?: Bytes | undefined }>;
  /** Ends the reading before its end. */
  cancel(reason?: unknown): Promise<void>;
}

/** Returns a stream of the parts of a reader, which reads only as fast as it is read itself. */
export function toStream(reader: ByteReader): ReadableStream<Bytes> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/**
 * Returns what has arrived of a stream of Node, a chunk more than `mostBytes` at the most; undefined where nothing has. In Deno
 * (2.9.6) each of its reads returns one chunk of what was sent.
 */
export function readArrived(
  source: { read(): Uint8Array<ArrayBuffer> | null },
  mostBytes = Infinity,
): Bytes | undefined {
  const chunks: Bytes[] = [];
  let size = 0;
  for (let chunk = source.read(); chunk; chunk = size < mostBytes ? source.read() : null) {
    chunks.push(chunk);
    size += chunk.length;
  }
  if (chunks.length === 0) return undefined;
  const { buffer, byteOffset, length } = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  return new Uint8Array(buffer, byteOffset, length);
}
