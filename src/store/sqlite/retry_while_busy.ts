import type { Clock } from "../../kernel/clock.ts";

/** How long to retry while another process holds a lock. */
export interface BusyRetry {
  clock: Pick<Clock, "monotonic" | "sleep">;
  /** A number from 0 up to 1, as `Math.random`. */
  random: () => number;
  timeoutMs: number;
}

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 20;

/** Returns the pause before the given retry (0 for the first): random, so that processes don't retry in step. */
export function busyPauseMs(retry: number, random: () => number): number {
  const longestMs = Math.min(FIRST_PAUSE_MS * 2 ** retry, LONGEST_PAUSE_MS);
  return Math.max(FIRST_PAUSE_MS, random() * longestMs);
}

/**
 * Runs `attempt` again, after a pause that leaves the event loop free, until it returns a result or throws something that
 * `isBusy` does not accept. After the deadline the last error is thrown.
 */
export async function retryWhileBusy<T>(
  attempt: () => T,
  isBusy: (error: unknown) => boolean,
  { clock, random, timeoutMs }: BusyRetry,
): Promise<T> {
  const deadline = clock.monotonic() + timeoutMs;
  for (let retry = 0;; retry++) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() >= deadline) throw error;
    }
    await clock.sleep(busyPauseMs(retry, random));
  }
}
