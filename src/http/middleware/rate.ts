import type { RequestLimitName } from "../../contract/limits.ts";
import { type Clock, MINUTE_MS } from "../../kernel/clock.ts";
import { RecentMap } from "../../kernel/recent_map.ts";

/** The number of addresses, and of keys, that each limit keeps track of. */
const MAX_SUBJECTS = 10_000;

/** The state of a rate limit for one subject, for the RateLimit headers. */
export interface RateState {
  name: RequestLimitName;
  quota: number;
  left: number;
  /** Seconds until the quota is whole again. */
  resetSeconds: number;
  /** Seconds until a request is allowed; 0 where it is. */
  retrySeconds: number;
}

/**
 * A quota per minute and subject, which refills steadily (the generic cell rate algorithm): one number per subject, the time
 * at which its quota is whole again.
 */
export class Rate {
  readonly #wholeAt = new RecentMap<number>(MAX_SUBJECTS);
  readonly #msEach: number;

  constructor(readonly name: RequestLimitName, readonly quota: number, private readonly clock: Clock) {
    this.#msEach = MINUTE_MS / quota;
  }

  /** Adds an amount, whatever is left. */
  add(subject: string, amount: number): void {
    const now = this.clock.monotonic();
    this.#wholeAt.set(subject, Math.max(now, this.#wholeAt.get(subject) ?? 0) + amount * this.#msEach);
  }

  /** Takes an amount if anything is left: a single body may be larger than what is left, and delays the following. */
  take(subject: string, amount: number): RateState {
    const now = this.clock.monotonic();
    let usedMs = Math.max(0, (this.#wholeAt.get(subject) ?? 0) - now);
    const waitMs = usedMs + this.#msEach - MINUTE_MS;
    // Rounding must not turn exactly one into less than one.
    const isAllowed = waitMs < 0.001;
    if (isAllowed) {
      usedMs += amount * this.#msEach;
      if (amount > 0) this.add(subject, amount);
    }
    return {
      name: this.name,
      quota: this.quota,
      left: Math.max(0, Math.floor((MINUTE_MS - usedMs) / this.#msEach + 1e-6)),
      resetSeconds: Math.ceil(usedMs / 1000),
      retrySeconds: isAllowed ? 0 : Math.max(1, Math.ceil(waitMs / 1000)),
    };
  }
}
