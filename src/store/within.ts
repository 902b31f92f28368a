/**
 * Waits for an attempt until a timeout: a retry that begins late must not be awaited past its deadline.
 *
 * @throws {DOMException} `TimeoutError` after the timeout
 */
export async function within<T>(timeoutMs: number, attempt: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new DOMException("it did not answer in time", "TimeoutError")),
    Math.max(0, timeoutMs),
  );
  try {
    return await Promise.race([attempt, late.promise]);
  } finally {
    clearTimeout(timer);
    attempt.catch(() => {}); // an abandoned attempt may fail silently
  }
}
