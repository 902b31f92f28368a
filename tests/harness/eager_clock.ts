import { setImmediate } from "node:timers";
import { type Clock, fixedClock } from "../../src/kernel/clock.ts";

/** A clock that advances only by sleeping: a sleep ends at once, and the clock jumps, so that no test waits. */
export function eagerClock(
  start: string | number = "2026-11-21T09:30:00.000Z",
): Clock & { advance(ms: number): void } {
  const clock = fixedClock(start);
  return {
    ...clock,
    now: () => Math.floor(clock.now()), // a whole number, as the time of any clock, also after a sleep of a fraction
    async sleep(delayMs, signal) {
      // A macrotask, so that other tasks can proceed in between.
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (!signal?.aborted) clock.advance(delayMs);
    },
  };
}
