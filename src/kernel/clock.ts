/** Where the time comes from. The only place that reads the machine's clock; tests pass their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number;
  /** Milliseconds of a clock that never goes back, for durations; fractions allowed. */
  monotonic(): number;
  /** Resolves after that many milliseconds, or earlier, without an error, when the signal aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** The longest that a timer of the platform can wait: 2^31 - 1 ms, 24.8 days. */
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
      // A longer timer would overflow and fire at once; who sleeps that long looks again anyway.
      const timer = setTimeout(done, Math.min(delayMs, MAX_TIMER_MS));
      signal?.addEventListener("abort", done, { once: true });
    }),
};

/** A clock for tests: it stands still until `advance`, and `sleep` ends when it has been advanced far enough. */
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

/** The wire form of a time: ISO 8601, UTC, milliseconds and `Z`. What happens in a step has few times, so the last is kept. */
export function toIso(epochMs: number): string {
  if (latest.epochMs !== epochMs) latest = { epochMs, text: new Date(epochMs).toISOString() };
  return latest.text;
}

/** One minute, one hour and one UTC day in milliseconds. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The start of the UTC minute, hour or day that holds a time; days of the epoch are UTC days. */
export function startOf(epochMs: number, lengthMs: number): number {
  return Math.floor(epochMs / lengthMs) * lengthMs;
}
