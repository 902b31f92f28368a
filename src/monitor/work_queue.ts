import type { Clock } from "../kernel/clock.ts";

/** Options of a work queue. */
export interface WorkQueueOptions<Item> {
  clock: Pick<Clock, "sleep">;
  /** The maximum length; a further item drops the oldest. */
  limit: number;
  batchSize: number;
  /** Called with batches in order, one at a time. */
  work: (batch: Item[]) => Promise<void> | void;
  /** Called on the first drop, and not again until the queue was empty. */
  onOverflow: () => void;
  /** Called on the first failure of `work`, and not again until it has succeeded. */
  onError: (error: unknown) => void;
}

/** The time that an item waits for others, unless a batch is full: a turn of its own would cost a booking as much as its SQL. */
const GATHER_MS = 50;

/** A bounded queue of background work, which never runs in the call to `push`. */
export class WorkQueue<Item> {
  #waiting: Item[] = [];
  #working: Promise<void> | undefined;
  /** Ends the wait for others. */
  #gathering = new AbortController();
  #awaited = 0;
  #hasOverflown = false;
  #isFailing = false;
  #isClosing = false;

  constructor(private readonly options: WorkQueueOptions<Item>) {}

  push(item: Item): void {
    if (this.#waiting.length >= this.options.limit) {
      this.#waiting.shift();
      if (!this.#hasOverflown) this.options.onOverflow();
      this.#hasOverflown = true;
    }
    this.#waiting.push(item);
    this.#working ??= this.#work();
    if (this.#waiting.length === this.options.batchSize) this.#gathering.abort();
  }

  /** Resolves when the queue is empty and no work is running. */
  async idle(): Promise<void> {
    this.#awaited++;
    this.#gathering.abort();
    while (this.#working) await this.#working;
    this.#awaited--;
  }

  /** Resolves when the queue is empty; after a failure of `work` the rest is dropped. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.idle();
  }

  async #work(): Promise<void> {
    const { clock, batchSize, work, onError } = this.options;
    while (this.#waiting.length > 0) {
      if (this.#awaited === 0 && this.#waiting.length < batchSize) {
        this.#gathering = new AbortController();
        await clock.sleep(GATHER_MS, this.#gathering.signal);
      }
      await clock.sleep(0); // a macrotask: the caller of push() continues first
      try {
        await work(this.#waiting.splice(0, batchSize));
        this.#isFailing = false;
      } catch (error) {
        if (!this.#isFailing) onError(error);
        this.#isFailing = true;
        if (this.#isClosing) this.#waiting = [];
      }
    }
    this.#hasOverflown = false;
    this.#working = undefined;
  }
}
