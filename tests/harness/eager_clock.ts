import { setImmediate } from "node:timers";
import { type Clock, fixedClock } from "../../src/kernel/clock.ts";

/** A clock that stands still except when somebody sleeps: then it jumps, so that no test waits. */
export function eagerClock(
  start: string | number = "2026-11-21T09:30:00.000Z",
): Clock & { advance(ms: number): void } {
  const clock = fixedClock(start);
  return {
    ...clock,
    async sleep(delayMs, signal) {
      // A macrotask, so that what others wait for can happen in between.
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (!signal?.aborted) clock.advance(delayMs);
    },
  };
}
