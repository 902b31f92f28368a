import type { Clock } from "../../kernel/clock.ts";

/** How long to wait, and for what. */
export interface Patience<Late> {
  clock: Clock;
  timeoutMs: number;
  /** Ends the wait earlier. */
  signal?: AbortSignal;
  /** What to answer then. */
  late: () => Late;
}

const LATE = Symbol("late");

/** What work comes to, or `late()` where that takes too long; the work goes on, and nobody hears of its failure. */
export async function settleWithin<T, Late>(work: Promise<T>, patience: Patience<Late>): Promise<T | Late> {
  const { clock, timeoutMs, signal, late } = patience;
  const over = new AbortController();
  const end = signal ? AbortSignal.any([over.signal, signal]) : over.signal;
  try {
    const first = await Promise.race([work, clock.sleep(timeoutMs, end).then(() => LATE)]);
    return first === LATE ? late() : first as T;
  } finally {
    over.abort();
  }
}
