import type { Bus } from "../../bus/mod.ts";
import type { LiveState } from "../../contract/live.ts";
import { startOf } from "../../contract/windows.ts";
import { SharedLoop } from "../../kernel/shared_loop.ts";
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
   * Yields the newest reading at least every two seconds: the same object, if nothing has changed. One loop reads each part,
   * from its first caller to its last.
   *
   * @throws {Error} the database can't be read
   */
  follow(view: LiveView, signal: AbortSignal): AsyncGenerator<LiveReading>;
}

type ReaderContext = LiveContext & { bus: Bus };

/** The shortest time between two states. */
const GAP_MS = 1_000;

/** The interval of looking for changes if no other process writes. */
const BEAT_MS = 2_000;

/** The interval of reading what changes without a call or an event: limits that are edited, deliveries. */
const WHOLE_MS = 5_000;

/** Budgets and rules are read again after this many times the time that reading them took. */
const REST_OF_LIMITS = 20;

/** The number of states that are kept for a second. */
const MAX_RECENT = 100;

const CHANGES = `SELECT (SELECT max(position) FROM calls), (SELECT max(event_id) FROM events),
  (SELECT max(position) FROM alerts)`;

export function createLiveReader(ctx: ReaderContext): LiveReader {
  const overviews = new Map<string, FollowedOverview>();
  const recent = new Map<string, { since: number; state: Promise<LiveState> }>();
  const keyOf = ({ agentId, keyId }: LiveView) => agentId === undefined ? "" : `${agentId} ${keyId}`;
  return {
    read(view) {
      const key = keyOf(view);
      const last = recent.get(key);
      const now = ctx.clock.monotonic();
      if (last && now - last.since < GAP_MS) return last.state;
      const state = readLiveState(ctx, view);
      // There are few keys of one agent, and so few parts. A reading that failed is repeated.
      if (recent.size >= MAX_RECENT) recent.clear();
      recent.set(key, { since: now, state });
      state.catch(() => recent.delete(key));
      return state;
    },
    async *follow(view, signal) {
      const key = keyOf(view);
      let overview = overviews.get(key);
      if (!overview) {
        const started = overview = new FollowedOverview(ctx, view, () => {
          if (overviews.get(key) === started) overviews.delete(key);
        });
        overviews.set(key, overview);
      }
      using caller = overview.loop.join(signal);
      while (!signal.aborted) {
        overview.loop.throwIfFailed();
        const { newest } = overview;
        if (newest) yield newest;
        // A reading that was made while this caller was busy has not woken it.
        if (overview.newest === newest) await caller.woken();
      }
    },
  };
}

/** One part of the overview, which a loop reads while it has callers. */
class FollowedOverview {
  newest: LiveReading | undefined;
  readonly loop: SharedLoop;

  constructor(private readonly ctx: ReaderContext, private readonly view: LiveView, onEnd: () => void) {
    this.loop = new SharedLoop({
      clock: ctx.clock,
      bus: ctx.bus,
      read: (loop) => this.#read(loop),
      onEnd,
    });
  }

  async #read(loop: SharedLoop): Promise<void> {
    const { clock, store } = this.ctx;
    let seen = "";
    let readAt = -Infinity;
    let limitsAt = -Infinity;
    for (let number = 1; !loop.over.aborted;) {
      loop.hasChanged = false;
      const changes = `${(await store.read({ sql: CHANGES })).rows[0]} ${startOf("minute", clock.now())}`;
      const now = clock.monotonic();
      if (changes !== seen || now - readAt >= WHOLE_MS) {
        const state = await readLiveState(
          this.ctx,
          this.view,
          now < limitsAt ? this.newest?.state : undefined,
        );
        if (now >= limitsAt) limitsAt = clock.monotonic() + (clock.monotonic() - now) * REST_OF_LIMITS;
        this.newest = { number: number++, state };
        seen = changes;
        readAt = now;
      }
      for (const caller of loop.callers) caller.wake();
      await clock.sleep(GAP_MS, loop.over);
      if (!store.isShared) await loop.sleepUntilChange(BEAT_MS - GAP_MS);
    }
  }
}
