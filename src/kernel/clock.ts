/** A source of time. Only this file reads the machine's clock; tests pass their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number;
  /** Milliseconds of a monotonic clock, for durations; may be fractional. */
  monotonic(): number;
  /** Resolves after the delay, or when the signal aborts; never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay of a timer: 2^31 - 1 ms, 24.8 days. */
const MAX_TIMER_MS = 2_147_483_647;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      // A longer timer would overflow and fire at once; callers that sleep so long check the time again.
      const timer = setTimeout(done, Math.min(delayMs, MAX_TIMER_MS));
      signal?.addEventListener("abort", done, { once: true });
    }),
};

/** Creates a clock for tests: it stands still until `advance`, which also ends `sleep`. */
export function fixedClock(start: string | number): Clock & { advance(ms: number): void } {
  let now = typeof start === "number" ? start : Date.parse(start);
  const sleepers = new Set<{ until: number; wake: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    sleep(delayMs, signal) {
      return new Promise((resolve) => {
        if (delayMs <= 0 || signal?.aborted) return resolve();
        const sleeper = {
          until: now + delayMs,
          wake: () => {
            sleepers.delete(sleeper);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake, { once: true });
      });
    },
    advance(ms) {
      now += ms;
      for (const sleeper of [...sleepers]) if (sleeper.until <= now) sleeper.wake();
    },
  };
}

let latest = { epochMs: NaN, text: "" };

/** Formats a time for the wire: ISO 8601, UTC, milliseconds and `Z`. Caches the last one, since a step has few times. */
export function toIso(epochMs: number): string {
  if (latest.epochMs !== epochMs) latest = { epochMs, text: new Date(epochMs).toISOString() };
  return latest.text;
}

/** One minute, one hour and one UTC day in milliseconds. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The bounds of ranges of durations in seconds: from a fast commit to the minutes of a long answer. */
const BOUNDS = [0.001, 0.01, 0.1, 1, 10, 100].flatMap((unit) => [unit, 2.5 * unit, 5 * unit]);

/** Durations in seconds, counted by ranges: a histogram of Prometheus. */
export class Durations {
  readonly bounds = BOUNDS;
  /** The number of durations at or below each bound and above the one before it; the last one is of those above all. */
  readonly counts: number[] = [...BOUNDS, Infinity].map(() => 0);
  sum = 0;

  /** Counts a duration. */
  add(seconds: number): void {
    const index = BOUNDS.findIndex((bound) => seconds <= bound);
    this.counts[index === -1 ? BOUNDS.length : index]!++;
    this.sum += seconds;
  }
}
