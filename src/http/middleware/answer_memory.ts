import { PurserError } from "../../kernel/errors.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type MemoryShare, SLICE_UNITS, SMALL_PART_BYTES, type Turns } from "../../kernel/turns.ts";
import type { Delivery } from "./server_request.ts";

/*
 * The memory of answers that wait for their clients to read them. What may be large is made part by part, as fast as it is read, so
 * that a client that reads nothing holds one part. Once all of them hold too much, no further part is made: a request waits a
 * moment, and is refused; an answer that has begun waits. Meanwhile the connections are closed on which nothing was read for the
 * longest time, first those of the client that holds most.
 */

/** The time without reading after which a connection may be closed in favor of others; a slow client reads some in it. */
const EVICTION_MS = 5_000;

/** The longest that a request waits for room, and the interval of looking for connections to close. */
const WAIT_MS = 5_000;
const CHECK_MS = 250;

/** The units of work of making a part, besides its bytes. */
const MAKING_UNITS = 4 * 1024;

/** The limits of all answers, and of those of one key, by the names of their settings. */
export type AnswerLimit = "answer_bytes" | "answer_bytes_per_key";

/** The parts of a server that its answers use. */
export interface AnswerMemoryContext {
  clock: Pick<Clock, "monotonic" | "sleep">;
  turns: Turns;
  /** The most bytes in all and for each key. */
  limits: Readonly<Record<AnswerLimit, number>>;
  /** The parts of answers that are made at the same time: one holds what it has read from the database uncounted. */
  mostMaking: number;
  /** Returns the error for a request without room. */
  refuse(limit: AnswerLimit, subject: string): Error;
}

/** An answer that waits to make its next part. */
interface Waiter {
  share: AnswerShare;
  /** The time at which it is refused. */
  until: number;
  resolve(): void;
  reject(error: Error): void;
}

/** The memory of all answers of a server. */
export class AnswerMemory {
  #used = 0;
  readonly #usedBy = new Map<string, number>();
  readonly #holding = new Set<AnswerShare>();
  /** The buffers that wait to be read, which many answers may have, and who has had each first. */
  readonly #buffers = new Map<ArrayBufferLike, { count: number; subject: string }>();
  /** Those that wait, by their subject; the subject that has waited longest for its turn is the first. */
  readonly #waiting = new Map<string, Waiter[]>();
  #making = 0;
  /** The answers that are arriving, the oldest first, with the functions that let them. */
  readonly #growing = new Map<AnswerShare, (() => void) | undefined>();
  #isWatching = false;

  constructor(private readonly ctx: AnswerMemoryContext) {}

  /** Opens the share of an answer; `subject` is the key or the address of its client. */
  open(delivery: Delivery, subject: string, isKey: boolean): AnswerShare {
    return new AnswerShare(this, delivery, subject, isKey);
  }

  /**
   * Returns the limit at which an answer has no room for some bytes more, beside those of others. A single one always has. `own`
   * are those of its own that are replaced.
   */
  limitOf({ subject, isKey }: AnswerShare, more = 0, own = 0): AnswerLimit | undefined {
    const { answer_bytes: most, answer_bytes_per_key: mostOfKey } = this.ctx.limits;
    const isOver = (used: number, limit: number) => used >= limit || (used > 0 && used + more > limit);
    if (isKey && isOver((this.#usedBy.get(subject) ?? 0) - own, mostOfKey)) return "answer_bytes_per_key";
    return isOver(this.#used - own, most) ? "answer_bytes" : undefined;
  }

  /** Closes connections until an answer has room for some bytes. Throws where there is none to close. */
  makeRoom(share: AnswerShare, bytes: number): void {
    const limit = this.#evict(share, bytes);
    if (limit !== undefined) throw this.ctx.refuse(limit, share.subject);
  }

  #evict(share: AnswerShare, bytes = 0): AnswerLimit | undefined {
    for (;;) {
      const limit = this.limitOf(share, bytes, share.bytes);
      const stalled = limit === undefined ? undefined : this.#longestStalled(limit, share);
      if (!stalled) return limit;
      stalled.close();
      stalled.delivery.destroy();
    }
  }

  /** Returns the answer of which nothing was read for the longest time, of the client that holds most. */
  #longestStalled(limit: AnswerLimit, { subject }: AnswerShare): AnswerShare | undefined {
    const since = this.ctx.clock.monotonic() - EVICTION_MS;
    let found: AnswerShare | undefined;
    for (const share of this.#holding) {
      if (limit === "answer_bytes_per_key" && share.subject !== subject) continue;
      if (share.stalledSince > since) continue;
      const more = found ? this.#usedBy.get(share.subject)! - this.#usedBy.get(found.subject)! : 1;
      if (more > 0 || (more === 0 && share.stalledSince < found!.stalledSince)) found = share;
    }
    return found;
  }

  /** Counts that an answer holds more, or less. */
  add(share: AnswerShare, bytes: number, subject = share.subject): void {
    if (bytes === 0) return;
    this.#used += bytes;
    const used = (this.#usedBy.get(subject) ?? 0) + bytes;
    if (used > 0) this.#usedBy.set(subject, used);
    else this.#usedBy.delete(subject);
    if (share.isHolding) this.#holding.add(share);
    else this.#holding.delete(share);
    if (bytes < 0) this.#letGo();
  }

  /** Counts a buffer once for all answers that have it. */
  addBuffer(share: AnswerShare, buffer: ArrayBufferLike): void {
    const known = this.#buffers.get(buffer);
    if (known) known.count++;
    else this.#buffers.set(buffer, { count: 1, subject: share.subject });
    this.add(share, known ? 0 : buffer.byteLength);
    this.#holding.add(share);
  }

  removeBuffer(share: AnswerShare, buffer: ArrayBufferLike): void {
    const known = this.#buffers.get(buffer)!;
    if (!share.isHolding) this.#holding.delete(share);
    if (--known.count > 0) return;
    this.#buffers.delete(buffer);
    this.add(share, -buffer.byteLength, known.subject);
  }

  /** Resolves when an answer may make a part. Rejects after `waitMs`, or once its client has left. */
  async begin(share: AnswerShare, waitMs: number): Promise<void> {
    const until = this.ctx.clock.monotonic() + waitMs;
    await new Promise<void>((resolve, reject) => {
      const waiters = this.#waiting.get(share.subject) ?? [];
      waiters.push({ share, until, resolve, reject });
      this.#waiting.set(share.subject, waiters);
      this.#letGo();
      this.#watch();
    });
    await this.ctx.turns.spend(MAKING_UNITS);
  }

  /**
   * Ends the making of a part. What takes long in one piece, as to encode megabytes, has its turns afterwards: those of others come
   * before the next part.
   */
  end(bytes: number): void {
    for (let left = bytes; left > 0; left -= SLICE_UNITS) {
      void this.ctx.turns.spend(Math.min(left, SLICE_UNITS));
    }
    this.#making--;
    this.#letGo();
  }

  /** Ends the wait of an answer whose client has left. */
  forget(share: AnswerShare): void {
    this.#reject((waiter) => waiter.share === share && clientLeft());
  }

  /**
   * Returns a promise to await before an answer that is arriving may grow, unless it may. Where those that are arriving take all of
   * the memory, the oldest may.
   */
  grow(share: AnswerShare): Promise<void> | undefined {
    if (!this.#growing.has(share)) this.#growing.set(share, undefined);
    if (this.#mayGrow(share)) return undefined;
    return new Promise((resolve) => {
      this.#growing.set(share, resolve);
      this.#watch();
    });
  }

  isGrowing(share: AnswerShare): boolean {
    return this.#growing.has(share);
  }

  /** Ends the growing of an answer. */
  arrived(share: AnswerShare): void {
    const go = this.#growing.get(share);
    if (this.#growing.delete(share)) this.#letGo();
    go?.();
  }

  #mayGrow(share: AnswerShare): boolean {
    const limit = this.limitOf(share);
    if (limit === undefined) return true;
    const isOfAll = limit === "answer_bytes";
    const others = [...this.#growing.keys()].filter(({ subject }) => isOfAll || subject === share.subject);
    if (share !== others[0]) return false;
    // Those that have arrived are read, or closed: it waits for them, but not for others that wait for it.
    const used = isOfAll ? this.#used : this.#usedBy.get(share.subject)!;
    return used - others.reduce((sum, { bytes }) => sum + bytes, 0) < this.ctx.limits[limit];
  }

  /** Lets those continue that have room: one of each subject in turn. */
  #letGo(): void {
    for (const [share, go] of this.#growing) {
      if (!go || !this.#mayGrow(share)) continue;
      this.#growing.set(share, undefined);
      go();
    }
    for (const [subject, waiters] of [...this.#waiting]) {
      if (this.#making >= this.ctx.mostMaking) return;
      // The next part of an answer replaces the one that it has: so those that have one can continue before new ones begin.
      const next = waiters.findIndex(({ share }) => this.limitOf(share, 0, share.bytes) === undefined);
      if (next === -1) continue;
      this.#making++;
      waiters.splice(next, 1)[0]!.resolve();
      this.#waiting.delete(subject); // so that it is the last one
      if (waiters.length > 0) this.#waiting.set(subject, waiters);
    }
  }

  #reject(reasonOf: (waiter: Waiter) => Error | false): void {
    for (const [subject, waiters] of [...this.#waiting]) {
      const left = waiters.filter((waiter) => {
        const reason = reasonOf(waiter);
        if (reason) waiter.reject(reason);
        return !reason;
      });
      if (left.length > 0) this.#waiting.set(subject, left);
      else this.#waiting.delete(subject);
    }
  }

  /** Closes connections while others wait for room, and refuses those that have waited too long. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { clock, refuse } = this.ctx;
    const isWaiting = () => this.#waiting.size > 0 || [...this.#growing.values()].some((go) => go);
    while (isWaiting()) {
      await clock.sleep(CHECK_MS);
      const now = clock.monotonic();
      const shares = [
        ...this.#growing.keys(),
        ...[...this.#waiting.values()].map((waiters) => waiters[0]!.share),
      ];
      for (const share of shares) this.#evict(share);
      this.#reject(({ share, until }) =>
        now >= until && refuse(this.limitOf(share) ?? "answer_bytes", share.subject)
      );
    }
    this.#isWatching = false;
  }
}

/** The memory that one answer takes. */
export class AnswerShare implements MemoryShare {
  #bytes = 0;
  #buffer: ArrayBufferLike | undefined;
  #isMaking = false;
  #isClosed = false;

  constructor(
    private readonly memory: AnswerMemory,
    readonly delivery: Delivery,
    /** The client that it counts for: its key, or else its address. */
    readonly subject: string,
    readonly isKey: boolean,
  ) {
    delivery.onClose(() => this.close());
    delivery.onStall = (buffer) => this.#setBuffer(buffer);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isHolding(): boolean {
    return this.#bytes > 0 || this.#buffer !== undefined;
  }

  /** Since when its client has read nothing of what waits for it; Infinity while nothing waits, and once it has left. */
  get stalledSince(): number {
    return this.#isClosed ? Infinity : this.delivery.stalledSince ?? Infinity;
  }

  /** As `room()`, for a request that can be refused. Throws `rate_limited` or `unavailable`. */
  async enter(): Promise<void> {
    await this.#begin(WAIT_MS);
  }

  async room(): Promise<void> {
    await this.#begin(Infinity);
  }

  async #begin(waitMs: number): Promise<void> {
    if (this.#isMaking) return;
    if (this.#isClosed) throw clientLeft();
    await this.memory.begin(this, waitMs);
    this.#isMaking = true;
    if (!this.#isClosed) return;
    this.hold(0);
    throw clientLeft();
  }

  hold(bytes: number): void {
    this.memory.arrived(this);
    this.#set(this.#isClosed ? 0 : bytes);
    if (!this.#isMaking) return;
    this.#isMaking = false;
    this.memory.end(bytes);
  }

  grow(bytes: number): Promise<void> | undefined {
    this.#set(bytes);
    return bytes <= SMALL_PART_BYTES ? undefined : this.memory.grow(this);
  }

  /** Throws `rate_limited` or `unavailable` where there is no room for another answer, before a request has any effect. */
  check(): void {
    this.memory.makeRoom(this, 0);
  }

  /** Counts an answer that was made as a whole. Throws where a large one has no room, if it can be made again. */
  take(whole: string | Uint8Array | undefined, canRefuse: boolean): void {
    // Bytes count while they wait: those of documents are there once for all clients, those of providers count already.
    if (typeof whole !== "string") return;
    const isSmall = whole.length <= SMALL_PART_BYTES;
    if (!isSmall && !this.#isMaking && canRefuse) this.memory.makeRoom(this, whole.length);
    this.hold(isSmall ? 0 : whole.length);
  }

  /** True while its client holds as much as it may. */
  get isFull(): boolean {
    return this.memory.limitOf(this) !== undefined;
  }

  /** Frees what waits for a client that has left. What still arrives for it counts until it has arrived. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#setBuffer(undefined);
    this.memory.forget(this);
    if (!this.memory.isGrowing(this)) this.hold(0);
  }

  #set(bytes: number): void {
    const more = bytes - this.#bytes;
    this.#bytes = bytes;
    this.memory.add(this, more);
  }

  #setBuffer(buffer: ArrayBufferLike | undefined): void {
    const before = this.#buffer;
    this.#buffer = this.#bytes > 0 || this.#isClosed ? undefined : buffer;
    if (before === this.#buffer) return;
    if (this.#buffer) this.memory.addBuffer(this, this.#buffer);
    if (before) this.memory.removeBuffer(this, before);
  }
}

/** Returns the error for an answer whose client has left, which is no failure of this server. */
function clientLeft(): PurserError {
  return new PurserError("unavailable", "Cannot answer: its client has left");
}
