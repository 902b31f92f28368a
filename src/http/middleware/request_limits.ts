import { REQUEST_LIMITS, type RequestLimitName, type RequestLimitSettings } from "../../contract/limits.ts";
import { type Clock, MINUTE_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Turns } from "../../kernel/turns.ts";
import type { Store } from "../../store/mod.ts";
import { AnswerMemory, type AnswerShare } from "./answer_memory.ts";
import { BODY_TIMES } from "./body_chunks.ts";
import { FailedKeys } from "./failed_keys.ts";
import { addressGroup, siteOf } from "./loopback.ts";
import { Rate, type RateState } from "./rate.ts";
import type { Delivery } from "./server_request.ts";

/**
 * The limits of a server on what one API key, one address and all clients together may do at a time. The state is in
 * memory, of this process alone, and of a bounded size: of more than 10,000 addresses or keys those that were
 * not seen for the longest time are forgotten.
 */

/** The failed keys of an IPv6 site that are free, and forgiven, for each one of an address. */
const SITE_FACTOR = 10;

/** The bytes of a body that are counted at once, and that are counted in advance. */
const BODY_STEP = 16 * 1024;

/** The `Retry-After` where a run, a stream or a body has to end first. */
const RETRY_SECONDS = 2;

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
type Kind = "runs" | "calls" | "streams" | "body_bytes" | "context_bytes";

const WORDS = {
  runs: "runs in progress",
  calls: "calls through the gateway in progress",
  streams: "open streams",
  body_bytes: "bytes of bodies being read",
  context_bytes: "bytes of sessions in the memory of runs",
  answer_bytes: "bytes of answers that clients have not read",
} as const;

/** The parts of answers that are made at the same time, over a file, whose reads take the process, and over a server. */
const MOST_MAKING = { file: 2, memory: 2, remote: 16 } as const;

/** The limits of one process. */
export class RequestLimits {
  readonly #limits: Partial<Record<RequestLimitName, number>>;
  readonly #rates: Partial<Record<RequestLimitName, Rate>> = {};
  readonly #gauges: Record<Kind, Gauge> = {
    runs: new Gauge(),
    calls: new Gauge(),
    streams: new Gauge(),
    body_bytes: new Gauge(),
    context_bytes: new Gauge(),
  };
  readonly #failedKeys: FailedKeys;
  readonly #failedKeysOfSites: FailedKeys;
  readonly #warnedAt = new Map<RequestLimitName, number>();
  readonly #answers: AnswerMemory;

  constructor(
    private readonly ctx: {
      clock: Clock;
      log: Log;
      requestLimits: RequestLimitSettings;
      maxBodyBytes: number;
      maxContextBytes: number;
      turns: Turns;
      store: Pick<Store, "kind">;
    },
  ) {
    const { clock, requestLimits, maxBodyBytes, maxContextBytes } = ctx;
    const limits: Partial<Record<RequestLimitName, number>> = {};
    for (const name of Object.keys(REQUEST_LIMITS) as RequestLimitName[]) {
      const limit = requestLimits[name] ?? REQUEST_LIMITS[name];
      if (limit === null) continue;
      // A body and a session of the largest size must fit.
      const least = name.startsWith("body_bytes") && !name.includes("minute")
        ? BODY_TIMES * maxBodyBytes
        : name.startsWith("context_bytes")
        ? maxContextBytes
        : 0;
      limits[name] = Math.max(limit, least);
      if (name.includes("_per_minute_")) this.#rates[name] = new Rate(name, limit, clock);
    }
    this.#limits = limits;
    this.#answers = new AnswerMemory({
      clock,
      turns: ctx.turns,
      limits: { answer_bytes: limits.answer_bytes!, answer_bytes_per_key: limits.answer_bytes_per_key! },
      mostMaking: MOST_MAKING[ctx.store.kind],
      refuse: (limit, subject) => this.#refuse("answer_bytes", limit, subject),
    });
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
      if (limit !== undefined && used + needed > limit) throw this.#refuse(kind, name, subject);
    };
    if (key !== undefined) {
      check(`${kind}_per_key`, gauge.of(key), key);
      subjects.push(key);
    }
    if (address !== undefined && kind !== "body_bytes" && kind !== "context_bytes") {
      check(`${kind}_per_address`, gauge.of(address), address);
      subjects.push(address);
    }
    check(kind, gauge.all, "all");
    gauge.add(subjects, amount);
    return () => gauge.add(subjects, -amount);
  }

  /** Returns the error for a use that is over a limit. */
  #refuse(kind: keyof typeof WORDS, name: RequestLimitName, subject: string): PurserError {
    this.#warn(name, subject);
    const isOfAll = name === kind;
    const whose = isOfAll
      ? "this server has"
      : name.endsWith("_key")
      ? "this API key has"
      : "this address has";
    return new PurserError(
      isOfAll ? "unavailable" : "rate_limited",
      `Cannot answer now: ${whose} ${this.#limits[name]} ${
        WORDS[kind]
      }, its limit (${name}); try again when one has ended`,
      { details: { limit: name, retry_after_seconds: RETRY_SECONDS } },
    );
  }

  /** Opens the memory of an answer, which counts for a key or else for an address. */
  openAnswer(delivery: Delivery, key: string | undefined, address: string | undefined): AnswerShare {
    return this.#answers.open(delivery, key ?? address ?? "", key !== undefined);
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
  readonly #bodyEnds: (() => void)[] = [];
  /** The bytes of the body that are counted in memory. */
  #bodyBytes = 0;
  #states: RateState[] | undefined;
  #isKept = false;
  /** The bytes of the body that may still have to be counted in memory. */
  #uncountedBytes = 0;
  #isRateCounted = false;
  #received = 0;
  /** The memory of the answer; undefined where the server doesn't say how it is read. */
  answer: AnswerShare | undefined;

  constructor(private readonly limits: RequestLimits, private readonly address: string | undefined) {}

  /** Opens the memory of the answer, once its key is known. */
  openAnswer(delivery: Delivery | undefined): void {
    this.answer = delivery && this.limits.openAnswer(delivery, this.#key, this.address);
  }

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
   * Begins to read a body of this declared length, 0 where there is none, of which at most `maxBytes` are held in memory. Throws
   * `rate_limited` or `unavailable`.
   */
  beginBody(length: number, maxBytes: number): void {
    this.#isRateCounted = length > 0;
    if (this.#key !== undefined) this.#take("body_bytes_per_minute_per_key", this.#key, length);
    if (this.address !== undefined) this.#take("body_bytes_per_minute_per_address", this.address, length);
    // A declared length that doesn't fit is refused at once; but it takes no memory before it arrives.
    this.#uncountedBytes = Math.min(length || maxBytes, maxBytes);
    this.#hold(BODY_STEP, Math.min(length, maxBytes));
  }

  /**
   * Counts a body that has arrived `times` in all, since its text, its values and what they are passed to are in memory too. Throws
   * where they have no room.
   */
  countBody(times: number): void {
    if (this.#received > 0) this.#countReceived();
    if (this.#bodyBytes <= BODY_STEP) return;
    const bytes = this.#bodyBytes * (times - 1);
    this.#bodyEnds.push(this.limits.begin("body_bytes", bytes, this.address, this.#key));
  }

  /** Ends the holding of a body before the answer. */
  endBody(): void {
    this.#uncountedBytes = 0;
    for (const end of this.#bodyEnds.splice(0)) end();
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
    this.#bodyBytes += amount;
    const { address } = this;
    this.#bodyEnds.push(
      this.limits.begin("body_bytes", amount, address, this.#key, Math.max(amount, needed)),
    );
  }

  /** Begins a run, a call or a stream. Throws `rate_limited` or `unavailable`. */
  begin(kind: "runs" | "calls" | "streams"): void {
    (this.#ends ??= []).push(this.limits.begin(kind, 1, this.address, this.#key));
  }

  /**
   * Counts the session of a run, which is in memory several times until its end: as messages, as those of the AI SDK, and as they
   * are sent. Throws `rate_limited` or `unavailable`.
   */
  holdContext(bytes: number): void {
    (this.#ends ??= []).push(this.limits.begin("context_bytes", bytes, this.address, this.#key));
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
    this.endBody();
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
