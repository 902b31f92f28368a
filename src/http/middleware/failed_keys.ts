import { type Clock, MINUTE_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { RecentMap } from "../../kernel/recent_map.ts";

/** The failed keys of one address or network. */
interface Failures {
  count: number;
  /** The time from which the next failure to forgive counts, on the monotonic clock. */
  since: number;
  blockedUntil: number;
  /** The keys that are being looked up, by digest. */
  pending: Set<string>;
}

/** Distinct unknown keys of one address that are looked up at the same time. */
const MAX_PENDING = 100;
const MAX_BLOCK_SECONDS = 60;
/** The failures beyond those that are free, after which the block is the longest. */
const MAX_FAILURES = Math.ceil(Math.log2(MAX_BLOCK_SECONDS)) + 1;

/** The addresses or networks that are kept track of. */
const MAX_SUBJECTS = 10_000;

/**
 * Slows an address or a network that tries keys: after some failures its keys are refused before they are looked up, for a
 * time that doubles with each further failure.
 */
export class FailedKeys {
  readonly #failures = new RecentMap<Failures>(MAX_SUBJECTS);

  /** Allows each subject `free` failures, and forgives `perMinute`. */
  constructor(
    private readonly clock: Pick<Clock, "monotonic">,
    private readonly free: number,
    private readonly perMinute: number,
  ) {}

  /** Begins to look up a key that is not known to be valid. Returns a function for the result. Throws `rate_limited`. */
  begin(subject: string, digest: string): (isValid: boolean) => void {
    const now = this.clock.monotonic();
    const failures = this.#failures.get(subject) ??
      { count: 0, since: now, blockedUntil: -Infinity, pending: new Set() };
    if (failures.pending.has(digest)) return () => {}; // the same key, which is looked up once
    this.#forgive(failures, now);
    const waitMs = failures.blockedUntil - now;
    if (
      waitMs > 0 || failures.pending.size >= (failures.count < this.free ? MAX_PENDING * this.perMinute : 1)
    ) {
      const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
      throw new PurserError(
        "rate_limited",
        "Cannot check the API key: too many keys from this address or its network were not valid " +
          "(failed_keys_per_address); correct the key, and try again later",
        { details: { limit: "failed_keys_per_address", retry_after_seconds: retryAfterSeconds } },
      );
    }
    failures.pending.add(digest);
    this.#failures.set(subject, failures);
    return (isValid) => {
      failures.pending.delete(digest);
      if (!isValid) this.#countFailure(failures);
    };
  }

  #countFailure(failures: Failures): void {
    const now = this.clock.monotonic();
    this.#forgive(failures, now);
    failures.count = Math.min(this.free + MAX_FAILURES, failures.count + 1);
    if (failures.count <= this.free) return;
    const seconds = Math.min(MAX_BLOCK_SECONDS, 2 ** (failures.count - this.free - 1));
    failures.blockedUntil = now + seconds * 1000;
  }

  #forgive(failures: Failures, now: number): void {
    const forgiveMs = MINUTE_MS / this.perMinute;
    const forgiven = Math.min(failures.count, Math.floor((now - failures.since) / forgiveMs));
    failures.count -= forgiven;
    failures.since = failures.count === 0 ? now : failures.since + forgiven * forgiveMs;
  }
}
