import type { Clock } from "../../kernel/clock.ts";

/** A deadline. */
export interface Deadline<Fallback> {
  clock: Clock;
  timeoutMs: number;
  /** Ends the wait earlier. */
  signal?: AbortSignal;
  /** Returns the result to use after a timeout or an abort. */
  onTimeout: () => Fallback;
}

const TIMEOUT = Symbol("timeout");

/** Returns the result of `work`, or that of `onTimeout()` after the deadline; the work continues, its failure is ignored. */
export async function settleWithin<T, Fallback>(
  work: Promise<T>,
  deadline: Deadline<Fallback>,
): Promise<T | Fallback> {
  const { clock, timeoutMs, signal, onTimeout } = deadline;
  const over = new AbortController();
  const end = signal ? AbortSignal.any([over.signal, signal]) : over.signal;
  try {
    const first = await Promise.race([work, clock.sleep(timeoutMs, end).then(() => TIMEOUT)]);
    return first === TIMEOUT ? onTimeout() : first as T;
  } finally {
    over.abort();
  }
}
