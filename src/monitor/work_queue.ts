import type { Clock } from "../kernel/clock.ts";

/** What a queue works with. */
export interface WorkQueueOptions<Item> {
  clock: Pick<Clock, "sleep">;
  /** How many may wait; one more, and the oldest is dropped. */
  limit: number;
  batchSize: number;
  /** Called with batches in order, one at a time. */
  work: (batch: Item[]) => Promise<void> | void;
  /** Called once for each time that there was too much, until the queue has been empty again. */
  onOverflow: () => void;
  /** Called when work has failed, and not again until some has succeeded. */
  onError: (error: unknown) => void;
}

/** Work for later: it never runs on the path of who has put it in, and what waits is bounded. */
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

  /** Resolves when nothing waits and nothing is being worked on. */
  async idle(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** The same for the last time: should the work fail from now on, what still waits is left. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.idle();
  }

  async #work(): Promise<void> {
    const { clock, batchSize, work, onError } = this.options;
    while (this.#waiting.length > 0) {
      await clock.sleep(0); // a macrotask: whoever has put something in goes on first
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
