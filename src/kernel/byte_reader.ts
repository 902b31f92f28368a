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
