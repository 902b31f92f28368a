import type { Clock } from "./clock.ts";

/** The parts of a loop. */
export interface SharedLoopOptions {
  clock: Pick<Clock, "sleep">;
  /** Calls back on each change in this process; returns the function that ends this. */
  bus: { subscribe(onChange: () => void): () => void };
  /** Reads until `loop.over` aborts, and wakes the callers. Its error is thrown to all of them. */
  read(loop: SharedLoop): Promise<void>;
  /** Called when the loop ends: the next caller needs a new one. */
  onEnd(): void;
}

/** A loop that reads once for many callers: it begins with the first of them, and ends with the last. */
export class SharedLoop {
  readonly callers = new Set<{ wake(): void }>();
  /** True since a change in this process; reset by `read()` before it reads. */
  hasChanged = false;
  readonly #over = new AbortController();
  #failure: { error: unknown } | undefined;
  #wakeLoop = () => {};
  readonly #unsubscribe: () => void;

  constructor(private readonly options: SharedLoopOptions) {
    // Before the first reading: a change that it misses must wake the loop.
    this.#unsubscribe = options.bus.subscribe(() => {
      this.hasChanged = true;
      this.#wakeLoop();
    });
    options.read(this).catch((error) => {
      this.#failure = { error };
      this.#end();
      for (const caller of this.callers) caller.wake();
    });
  }

  get over(): AbortSignal {
    return this.#over.signal;
  }

  throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Adds a caller, until it is disposed of. */
  join(signal: AbortSignal): { woken(): Promise<void> } & Disposable {
    const caller = { wake: () => {} };
    const wake = () => caller.wake();
    signal.addEventListener("abort", wake, { once: true });
    this.callers.add(caller);
    return {
      /** Resolves when the callers are woken next, at once after the end. */
      woken: async () => {
        if (signal.aborted || this.#failure) return;
        await new Promise<void>((resolve) => caller.wake = resolve);
      },
      [Symbol.dispose]: () => {
        signal.removeEventListener("abort", wake);
        this.callers.delete(caller);
        if (this.callers.size === 0) this.#end();
      },
    };
  }

  /** Sleeps until a change in this process, the end, or the delay. */
  async sleepUntilChange(delayMs: number): Promise<void> {
    if (this.over.aborted || this.hasChanged) return;
    const awake = new AbortController();
    this.#wakeLoop = () => awake.abort();
    await this.options.clock.sleep(delayMs, awake.signal);
    this.#wakeLoop = () => {};
  }

  #end(): void {
    this.#over.abort();
    this.#unsubscribe();
    this.#wakeLoop();
    this.options.onEnd();
  }
}
