/** Returns the result of a promise. Throws the signal's reason as soon as it aborts. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    promise.catch(() => {}); // the error of an abandoned promise is dropped
  }
}

/** Reads a stream. Throws the signal's reason as soon as it aborts, also while waiting for a chunk. */
export async function* readUnlessAborted<Chunk>(
  signal: AbortSignal,
  stream: ReadableStream<Chunk>,
): AsyncGenerator<Chunk> {
  const reader = stream.getReader();
  const onAbort = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", onAbort, { once: true });
  let isDone = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) {
        isDone = true;
        return;
      }
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    if (!isDone) await reader.cancel().catch(() => {});
  }
}
