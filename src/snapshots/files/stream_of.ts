/** A stream of what comes. TypeScript's library of the web does not know `ReadableStream.from` yet. */
export function streamOf<Chunk>(chunks: AsyncIterable<Chunk>): ReadableStream<Chunk> {
  const streams = ReadableStream as unknown as { from(chunks: AsyncIterable<Chunk>): ReadableStream<Chunk> };
  return streams.from(chunks);
}
