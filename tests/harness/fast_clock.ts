import { type Clock, systemClock } from "../../src/kernel/clock.ts";

/** The system's clock, whose waits and deadlines are so many times shorter. */
export function fastClock(times: number): Clock {
  return {
    now: systemClock.now,
    monotonic: () => systemClock.monotonic() * times,
    sleep: (delayMs, signal) => systemClock.sleep(delayMs / times, signal),
  };
}
