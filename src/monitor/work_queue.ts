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

/** A bounded queue of background work, which never runs in the call to `push`. */
export class WorkQueue<Item> {
  #waiting: Item[] = [];
  #working: Promise<void> | undefined;
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
  }

  /** Resolves when the queue is empty and no work is running. */
  async idle(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** Resolves when the queue is empty; after a failure of `work` the rest is dropped. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.idle();
  }

  async #work(): Promise<void> {
    const { clock, batchSize, work, onError } = this.options;
    while (this.#waiting.length > 0) {
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
