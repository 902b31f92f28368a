import type { Clock } from "../../kernel/clock.ts";

/** The options of `retryWhileBusy`. */
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
 * Retries `attempt`, with pauses that leave the event loop free, until it returns or throws an error that `isBusy` does
 * not accept. After the deadline the last error is thrown.
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

/** A gap between commits in which another process can take the write lock; waiting ones retry at least every 20 ms. */
const PAUSE_MS = 3;

/** The longest run of commits without a pause, while others write. */
const LONGEST_RUN_MS = 20;

/** The time after another process has written during which others count as writing. */
const OTHERS_WRITE_MS = 1_000;

/** The options of `WriterPause`. */
export interface WriterPauseOptions {
  clock: { monotonic(): number; sleep(ms: number): Promise<void> };
  /** Changes when another connection has written: `PRAGMA data_version`. */
  readVersion(): unknown;
}

/**
 * Lets other processes write while this one commits continuously: every 20 ms, if others have written recently. A process
 * that is alone loses nothing; another that starts to write gets its turn between two commits, a little later.
 */
export class WriterPause {
  #begunAt = -Infinity;
  #endedAt = -Infinity;
  #version: unknown;
  #othersWroteAt = -Infinity;

  constructor(private readonly options: WriterPauseOptions) {}

  /** Called at the end of each commit. */
  commitEnded(): void {
    this.#endedAt = this.options.clock.monotonic();
  }

  /** Called between two commits that follow each other at once. */
  between(): Promise<void> | undefined {
    const { clock, readVersion } = this.options;
    const now = clock.monotonic();
    if (now - this.#endedAt >= PAUSE_MS) this.#begunAt = now; // a gap of its own
    if (now - this.#begunAt < LONGEST_RUN_MS) return undefined;
    this.#begunAt = now;
    const version = readVersion();
    if (this.#version !== undefined && version !== this.#version) this.#othersWroteAt = now;
    this.#version = version;
    return now - this.#othersWroteAt < OTHERS_WRITE_MS ? clock.sleep(PAUSE_MS) : undefined;
  }
}
