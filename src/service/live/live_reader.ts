import type { Bus } from "../../bus/mod.ts";
import type { LiveState } from "../../contract/live.ts";
import { MINUTE_MS, startOf } from "../../kernel/clock.ts";
import { type LiveContext, type LiveView, readLiveState } from "./read_live_state.ts";

/** A state of the overview, and its number in this process. */
export interface LiveReading {
  number: number;
  state: LiveState;
}

/** Reads the overview once for all streams that see the same part of it. */
export interface LiveReader {
  /** Reads the state; within a second it is the same for all callers. */
  read(view: LiveView): Promise<LiveState>;
  /**
   * Yields the newest reading at least every two seconds, the same object where nothing has changed. It is read by one
   * loop for each part, which starts with the first caller and ends with the last.
   *
   * @throws {Error} the database can't be read
   */
  follow(view: LiveView, signal: AbortSignal): AsyncGenerator<LiveReading>;
}

type ReaderContext = LiveContext & { bus: Bus };

/** The shortest time between two states. */
const GAP_MS = 1_000;

/** The interval of looking for changes where no process but this one writes. */
const BEAT_MS = 2_000;

/** The interval of reading what changes without a call or an event: budgets that are edited, deliveries. */
const WHOLE_MS = 5_000;

/** Budgets are read again after so many times as long as reading them took. */
const REST_OF_BUDGETS = 20;

/** The number of states that are kept for a second. */
const MAX_RECENT = 100;

const CHANGES = `SELECT (SELECT max(position) FROM calls), (SELECT max(event_id) FROM events),
  (SELECT max(position) FROM alerts)`;

export function createLiveReader(ctx: ReaderContext): LiveReader {
  const loops = new Map<string, SharedLoop>();
  const recent = new Map<string, { since: number; state: Promise<LiveState> }>();
  const keyOf = ({ agentId, keyId }: LiveView) => agentId === undefined ? "" : `${agentId} ${keyId}`;
  return {
    read(view) {
      const key = keyOf(view);
      const last = recent.get(key);
      const now = ctx.clock.monotonic();
      if (last && now - last.since < GAP_MS) return last.state;
      const state = readLiveState(ctx, view);
      // Keys of one agent are few; a failed reading is repeated.
      if (recent.size >= MAX_RECENT) recent.clear();
      recent.set(key, { since: now, state });
      state.catch(() => recent.delete(key));
      return state;
    },
    async *follow(view, signal) {
      const key = keyOf(view);
      let loop = loops.get(key);
      if (!loop) {
        const started = loop = new SharedLoop(ctx, view, () => {
          if (loops.get(key) === started) loops.delete(key);
        });
        loops.set(key, loop);
      }
      const caller = { wake: () => {} };
      const wake = () => caller.wake();
      signal.addEventListener("abort", wake, { once: true });
      loop.callers.add(caller);
      try {
        while (!signal.aborted) {
          loop.throwIfFailed();
          const { newest } = loop;
          if (newest) yield newest;
          // What was read while the caller was busy has woken no caller.
          if (signal.aborted || loop.hasFailed || loop.newest !== newest) continue;
          await new Promise<void>((resolve) => caller.wake = resolve);
        }
      } finally {
        signal.removeEventListener("abort", wake);
        loop.callers.delete(caller);
        if (loop.callers.size === 0) loop.end();
      }
    },
  };
}

/** The loop that reads one part of the overview. */
class SharedLoop {
  readonly callers = new Set<{ wake(): void }>();
  newest: LiveReading | undefined;
  readonly #over = new AbortController();
  #failure: { error: unknown } | undefined;
  #isChanged = false;
  #wakeLoop = () => {};
  #unsubscribe = () => {};

  constructor(
    private readonly ctx: ReaderContext,
    private readonly view: LiveView,
    private readonly onEnd: () => void,
  ) {
    this.#run().catch((error) => {
      this.#failure = { error };
      this.end();
      for (const caller of this.callers) caller.wake();
    });
  }

  end(): void {
    this.#over.abort();
    this.#unsubscribe();
    this.#wakeLoop();
    this.onEnd();
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error;
  }

  async #run(): Promise<void> {
    const { clock, bus, store } = this.ctx;
    this.#unsubscribe = bus.subscribe(() => {
      this.#isChanged = true;
      this.#wakeLoop();
    });
    let seen = "";
    let readAt = -Infinity;
    let budgetsAt = -Infinity;
    for (let number = 1; !this.#over.signal.aborted;) {
      this.#isChanged = false;
      const changes = `${(await store.read({ sql: CHANGES })).rows[0]} ${startOf(clock.now(), MINUTE_MS)}`;
      const now = clock.monotonic();
      if (changes !== seen || now - readAt >= WHOLE_MS) {
        const state = await readLiveState(
          this.ctx,
          this.view,
          now < budgetsAt ? this.newest?.state.budgets : undefined,
        );
        if (now >= budgetsAt) budgetsAt = clock.monotonic() + (clock.monotonic() - now) * REST_OF_BUDGETS;
        this.newest = { number: number++, state };
        seen = changes;
        readAt = now;
      }
      for (const caller of this.callers) caller.wake();
      await clock.sleep(GAP_MS, this.#over.signal);
      if (!store.isShared && !this.#isChanged) await this.#sleepUntilChange(BEAT_MS - GAP_MS);
    }
  }

  async #sleepUntilChange(delayMs: number): Promise<void> {
    if (this.#over.signal.aborted) return;
    const awake = new AbortController();
    this.#wakeLoop = () => awake.abort();
    await this.ctx.clock.sleep(delayMs, awake.signal);
    this.#wakeLoop = () => {};
  }
}
