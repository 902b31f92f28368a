import { REQUEST_LIMITS, type RequestLimitName, type RequestLimitSettings } from "../../contract/limits.ts";
import { type Clock, MINUTE_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { RecentMap } from "../../kernel/recent_map.ts";
import { FailedKeys } from "./failed_keys.ts";
import { addressGroup, siteOf } from "./loopback.ts";

/**
 * The limits of a server on what one API key, one address and all clients together may do at a time. The state is in
 * memory, of this process alone, and of a bounded size: of more addresses or keys than `MAX_SUBJECTS` those that were
 * not seen for the longest time are forgotten.
 */

/** The number of addresses, and of keys, that each limit keeps track of. */
const MAX_SUBJECTS = 10_000;

/** The failed keys of an IPv6 site that are free, and forgiven, for each one of an address. */
const SITE_FACTOR = 10;

/** The bytes of a body that are counted at once, and that are counted in advance. */
const BODY_STEP = 16 * 1024;

/** The `Retry-After` where a run, a stream or a body has to end first. */
const RETRY_SECONDS = 2;

/** The state of a rate limit for one subject, for the RateLimit headers. */
interface RateState {
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
class Rate {
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

/** Amounts in use at the same time, in all and by subject. */
class Gauge {
  all = 0;
  readonly #by = new Map<string, number>();

  of(subject: string): number {
    return this.#by.get(subject) ?? 0;
  }

  add(subjects: readonly string[], amount: number): void {
    this.all += amount;
    for (const subject of subjects) {
      const sum = this.of(subject) + amount;
      if (sum > 0) this.#by.set(subject, sum);
      else this.#by.delete(subject);
    }
  }
}

/** The uses that are limited in number or size at a time. */
type Kind = "runs" | "calls" | "streams" | "body_bytes";

const WORDS = {
  runs: "runs in progress",
  calls: "calls through the gateway in progress",
  streams: "open streams",
  body_bytes: "bytes of bodies being read",
} as const;

/** The limits of one process. */
export class RequestLimits {
  readonly #limits: Partial<Record<RequestLimitName, number>>;
  readonly #rates: Partial<Record<RequestLimitName, Rate>> = {};
  readonly #gauges: Record<Kind, Gauge> = {
    runs: new Gauge(),
    calls: new Gauge(),
    streams: new Gauge(),
    body_bytes: new Gauge(),
  };
  readonly #failedKeys: FailedKeys;
  readonly #failedKeysOfSites: FailedKeys;
  readonly #warnedAt = new Map<RequestLimitName, number>();

  constructor(
    private readonly ctx: {
      clock: Clock;
      log: Log;
      requestLimits: RequestLimitSettings;
      maxBodyBytes: number;
    },
  ) {
    const { clock, requestLimits, maxBodyBytes } = ctx;
    const limits: Partial<Record<RequestLimitName, number>> = {};
    for (const name of Object.keys(REQUEST_LIMITS) as RequestLimitName[]) {
      const limit = requestLimits[name] ?? REQUEST_LIMITS[name];
      if (limit === null) continue;
      // A body of the largest size must fit.
      limits[name] = name.startsWith("body_bytes") ? Math.max(limit, maxBodyBytes) : limit;
      if (name.includes("_per_minute_")) this.#rates[name] = new Rate(name, limit, clock);
    }
    this.#limits = limits;
    const freeKeys = limits.failed_keys_per_address!;
    this.#failedKeys = new FailedKeys(clock, freeKeys, 1);
    this.#failedKeysOfSites = new FailedKeys(clock, SITE_FACTOR * freeKeys, SITE_FACTOR);
  }

  /** Opens the lease of a request from an address. */
  open(from: string | undefined): RequestLease {
    return new RequestLease(this, from === undefined ? undefined : addressGroup(from));
  }

  /** Takes an amount of a rate, if it is set. Returns its state. */
  take(name: RequestLimitName, subject: string, amount: number): RateState | undefined {
    const state = this.#rates[name]?.take(subject, amount);
    if (state && state.retrySeconds > 0) this.#warn(name, subject);
    return state;
  }

  /** Adds an amount to a rate, if it is set. */
  add(name: RequestLimitName, subject: string, amount: number): void {
    this.#rates[name]?.add(subject, amount);
  }

  /**
   * Begins a use of an amount, if the `needed` one is within its limits. Throws `unavailable` where all clients are too many,
   * else `rate_limited`.
   */
  begin(
    kind: Kind,
    amount: number,
    address: string | undefined,
    key: string | undefined,
    needed = amount,
  ): () => void {
    const gauge = this.#gauges[kind];
    const subjects: string[] = [];
    const check = (name: RequestLimitName, used: number, subject: string) => {
      const limit = this.#limits[name];
      if (limit === undefined || used + needed <= limit) return;
      this.#warn(name, subject);
      const isOfAll = name === kind;
      const whose = isOfAll ? "this server has" : subject === key ? "this API key has" : "this address has";
      throw new PurserError(
        isOfAll ? "unavailable" : "rate_limited",
        `Cannot answer now: ${whose} ${limit} ${
          WORDS[kind]
        }, its limit (${name}); try again when one has ended`,
        { details: { limit: name, retry_after_seconds: RETRY_SECONDS } },
      );
    };
    if (key !== undefined) {
      check(`${kind}_per_key`, gauge.of(key), key);
      subjects.push(key);
    }
    if (address !== undefined && kind !== "body_bytes") {
      check(`${kind}_per_address`, gauge.of(address), address);
      subjects.push(address);
    }
    check(kind, gauge.all, "all");
    gauge.add(subjects, amount);
    return () => gauge.add(subjects, -amount);
  }

  /** The largest body that is read as a whole. */
  get maxBodyBytes(): number {
    return this.ctx.maxBodyBytes;
  }

  /**
   * Begins to look up a key that is not known to be valid; see `FailedKeys`. The failures of an IPv6 site count together, too:
   * by each of its 65,536 /64 networks, which are addresses here, it would make its own and others' be forgotten.
   */
  beginAttempt(address: string, digest: string): (isValid: boolean) => void {
    const site = siteOf(address);
    let endOfSite: ((isValid: boolean) => void) | undefined;
    try {
      // The site first: while it is refused, none of its addresses is kept track of.
      if (site !== undefined) endOfSite = this.#failedKeysOfSites.begin(site, digest);
      const end = this.#failedKeys.begin(address, digest);
      return (isValid) => {
        end(isValid);
        endOfSite?.(isValid);
      };
    } catch (error) {
      endOfSite?.(true); // the key is not looked up
      this.#warn("failed_keys_per_address", address);
      throw error;
    }
  }

  /** Logs that a limit is reached, at most once a minute for each limit. */
  #warn(limit: RequestLimitName, subject: string): void {
    const now = this.ctx.clock.monotonic();
    if (now - (this.#warnedAt.get(limit) ?? -Infinity) < MINUTE_MS) return;
    this.#warnedAt.set(limit, now);
    this.ctx.log.warn("Requests are refused: a limit is reached", { limit, of: subject });
  }
}

/** The uses of one request: what it counts as, until its response, or the stream that it answers with, has ended. */
export class RequestLease {
  #key: string | undefined;
  #ends: (() => void)[] | undefined;
  #states: RateState[] | undefined;
  #isKept = false;
  /** The bytes of the body that may still have to be counted in memory; 0 for one that is not held as a whole. */
  #uncountedBytes = 0;
  #isRateCounted = false;
  #received = 0;

  constructor(private readonly limits: RequestLimits, private readonly address: string | undefined) {}

  /** Counts the request for its address. Throws `rate_limited`. */
  countForAddress(): void {
    if (this.address !== undefined) this.#take("requests_per_minute_per_address", this.address, 1);
  }

  /** Counts the request for its key. Throws `rate_limited`. */
  countForKey(keyId: string): void {
    this.#key = keyId;
    this.#take("requests_per_minute_per_key", keyId, 1);
  }

  /**
   * Begins to read a body of this declared length, 0 where there is none; `isHeld` in memory as a whole, up to `maxBytes`. Throws `rate_limited`
   * or `unavailable`.
   */
  beginBody(
    length: number,
    { isHeld, maxBytes = this.limits.maxBodyBytes }: { isHeld: boolean; maxBytes?: number },
  ): void {
    this.#isRateCounted = length > 0;
    if (this.#key !== undefined) this.#take("body_bytes_per_minute_per_key", this.#key, length);
    if (this.address !== undefined) this.#take("body_bytes_per_minute_per_address", this.address, length);
    if (!isHeld) return;
    // A declared length that doesn't fit is refused at once; but it takes no memory before it arrives.
    this.#uncountedBytes = length || maxBytes;
    this.#hold(BODY_STEP, length);
  }

  /**
   * Counts bytes of a body that have arrived, in steps: in memory and, without a declared length, for the rates. Throws where
   * its memory is at its limit.
   */
  receive(bytes: number): void {
    this.#received += bytes;
    if (this.#received >= BODY_STEP) this.#countReceived();
  }

  #countReceived(): void {
    const bytes = this.#received;
    this.#received = 0;
    this.#hold(bytes);
    if (this.#isRateCounted) return;
    // The body has begun: what is over the rate delays the next one.
    if (this.#key !== undefined) this.limits.add("body_bytes_per_minute_per_key", this.#key, bytes);
    if (this.address !== undefined) this.limits.add("body_bytes_per_minute_per_address", this.address, bytes);
  }

  /** Counts memory of a body ahead of what arrives, at most its length in all. */
  #hold(bytes: number, needed = 0): void {
    const amount = Math.min(bytes, this.#uncountedBytes);
    if (amount === 0) return;
    this.#uncountedBytes -= amount;
    this.#begin("body_bytes", amount, Math.max(amount, needed));
  }

  /** Begins a run, a call or a stream. Throws `rate_limited` or `unavailable`. */
  begin(kind: "runs" | "calls" | "streams"): void {
    this.#begin(kind, 1);
  }

  #begin(kind: Kind, amount: number, needed = amount): void {
    (this.#ends ??= []).push(this.limits.begin(kind, amount, this.address, this.#key, needed));
  }

  /** See `RequestLimits.beginAttempt()`. */
  beginAttempt(digest: string): (isValid: boolean) => void {
    return this.address === undefined ? () => {} : this.limits.beginAttempt(this.address, digest);
  }

  /** Keeps the lease after the response has begun, until the function that it returns is called. */
  keep(): () => void {
    this.#isKept = true;
    return () => {
      this.#isKept = false;
      this.end();
    };
  }

  /** Ends all uses, unless the lease is kept. */
  end(): void {
    if (this.#isKept) return;
    this.#uncountedBytes = 0;
    if (this.#received > 0) this.#countReceived();
    if (!this.#ends) return;
    for (const end of this.#ends) end();
    this.#ends = undefined;
  }

  /** Adds the RateLimit headers of the rates that the request was counted for. */
  addHeaders(headers: Headers): void {
    if (!this.#states) return;
    headers.set("ratelimit-policy", this.#states.map(describePolicy).join(", "));
    headers.set(
      "ratelimit",
      this.#states.map(({ name, left, resetSeconds, retrySeconds }) =>
        // The time of a refusal is that of `Retry-After`.
        `"${name}";r=${left};t=${retrySeconds || resetSeconds}`
      ).join(", "),
    );
  }

  #take(name: RequestLimitName, subject: string, amount: number): void {
    const state = this.limits.take(name, subject, amount);
    if (!state) return;
    this.#states = [...this.#states?.filter((other) => other.name !== name) ?? [], state];
    if (state.retrySeconds === 0) return;
    const what = name.startsWith("body") ? "bytes of bodies" : "requests";
    const whose = name.endsWith("key") ? "this API key" : "this address";
    throw new PurserError(
      "rate_limited",
      `Cannot answer now: ${whose} has used its ${state.quota} ${what} a minute (${name}); try again in ${state.retrySeconds} s`,
      { details: { limit: name, retry_after_seconds: state.retrySeconds } },
    );
  }
}

function describePolicy({ name, quota }: RateState): string {
  return `"${name}";q=${quota};w=60${name.startsWith("body") ? ';qu="content-bytes"' : ""}`;
}
