import type { WriteDeadline } from "./write_unit.ts";

/** The message of an error for a server that is given up. */
export const NO_ANSWER = "it did not answer in time";

/**
 * Waits for an attempt until a timeout: a retry that begins late must not be awaited past its deadline.
 *
 * @throws {DOMException} `TimeoutError` after the timeout
 */
export async function within<T>(timeoutMs: number, attempt: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new DOMException(NO_ANSWER, "TimeoutError")),
    Math.max(0, timeoutMs),
  );
  try {
    return await Promise.race([attempt, late.promise]);
  } finally {
    clearTimeout(timer);
    attempt.catch(() => {}); // an abandoned attempt may fail silently
  }
}

/**
 * Pushes a unit or an item to a write queue, and gives it up after a timeout with the error that `explain` makes: one that
 * still waits behind an unanswered commit is then never sent.
 */
export async function pushInTime<T>(
  { timeoutMs, clock }: { timeoutMs: number; clock: { monotonic(): number } },
  push: (deadline: WriteDeadline) => Promise<T>,
  explain: (timeout: unknown) => Error,
): Promise<T> {
  const over = new AbortController();
  try {
    return await within(timeoutMs, push({ until: clock.monotonic() + timeoutMs, signal: over.signal }));
  } catch (error) {
    if ((error as Error)?.name !== "TimeoutError") throw error;
    over.abort(error);
    throw explain(error);
  }
}
