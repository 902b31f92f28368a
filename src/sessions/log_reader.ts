import type { Bus } from "../bus/mod.ts";
import { SharedLoop } from "../kernel/shared_loop.ts";
import { BYTES_PER_CHARACTER, type MemoryShare, type Turns } from "../kernel/turns.ts";
import type { SessionContext } from "./context.ts";
import { lastEventId, listAllEvents } from "./list_events.ts";

/** An event of the log as its JSON text, which all streams share. */
export interface LoggedEvent {
  eventId: number;
  agentId: string;
  type: string;
  text: string;
}

/** The events of the log in (after, last], in order. */
export interface LogPage {
  after: number;
  last: number;
  events: readonly LoggedEvent[];
  /** The length of their texts. */
  characters: number;
}

/** Reads the event log once for all streams of a process. */
export interface LogReader {
  /**
   * Yields the pages of the log of all sessions that follow a position: no event is missing or repeated. A page
   * may be the same object for many callers. An empty page is yielded at least every `BEAT_MS` without an event, so that
   * the caller can check what ends its stream.
   *
   * The log is read by one loop, which starts with the first caller and ends with the last. A caller that begins further
   * back, or is slower than the pages kept for all, reads pages of its own until it has caught up, which the memory of its answer
   * holds.
   *
   * @throws {Error} the log can't be read
   */
  follow(after: number, signal: AbortSignal, share?: MemoryShare): AsyncGenerator<LogPage>;
}

export type LogReaderContext =
  & Pick<SessionContext, "query" | "clock">
  & { store: Pick<SessionContext["store"], "isShared" | "read">; bus: Bus; turns: Turns };

/** The longest time between two pages of a caller, if only an empty one. */
export const BEAT_MS = 2_000;

/** The limits of a page for all callers, and of one for a caller that catches up. */
const PAGE_EVENTS = 500;
const OWN_PAGE_EVENTS = 100;

/** The limit of the pages that are kept for all callers, in characters of JSON; the newest is always kept. */
const KEPT_CHARACTERS = 4 * 1024 * 1024;

/** The interval of reading the log where other processes may write to it. */
const POLL_MS = 250;

/**
 * The pause after a page, for each 20 callers: what is committed meanwhile is sent to all of them at once, so that many
 * callers don't take the time of the work that they watch.
 */
const PAUSE_MS_PER_20_CALLERS = 10;

/** The units of work of waking a caller, and of a page of its own, besides its text. */
const WAKE_UNITS = 2 * 1024;
const OWN_PAGE_UNITS = 64 * 1024;

/** Creates the reader of a process. It does nothing while no caller follows the log. */
export function createLogReader(
  ctx: LogReaderContext,
  { keptCharacters = KEPT_CHARACTERS } = {},
): LogReader {
  let shared: FollowedLog | undefined;
  return {
    async *follow(after, signal, share) {
      const log = shared ??= new FollowedLog(ctx, keptCharacters, () => {
        if (shared === log) shared = undefined;
      });
      using caller = log.loop.join(signal);
      await log.started;
      while (!signal.aborted) {
        log.loop.throwIfFailed();
        const known = log.pageAfter(after);
        if (known) share?.hold(0);
        const page = known ?? await readOwnPage(ctx, after, share);
        if (page.events.length > 0) after = page.last;
        else await caller.woken();
        if (!signal.aborted) yield page;
      }
    },
  };
}

/** The newest pages of the log, which are consecutive; a loop reads them while it has callers. */
class FollowedLog {
  readonly loop: SharedLoop;
  /** Resolves once the loop has its first position, or has failed. */
  readonly started: Promise<void>;
  #pages: LogPage[] = [];
  #characters = 0;
  /** The kept pages are those of (#first, #last]. */
  #first = Infinity;
  #last = 0;

  constructor(
    private readonly ctx: LogReaderContext,
    private readonly keptCharacters: number,
    onEnd: () => void,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.started = promise;
    this.loop = new SharedLoop({
      clock: ctx.clock,
      bus: ctx.bus,
      read: (loop) => this.#read(loop, resolve),
      onEnd: () => {
        onEnd();
        resolve();
      },
    });
  }

  /** Returns the next page after a position, empty at the end; undefined if it is no longer kept. */
  pageAfter(after: number): LogPage | undefined {
    if (after < this.#first) return undefined;
    const page = this.#pages[this.#indexAfter(after)];
    if (!page) return toPage(after, []);
    return page.after === after ? page : toPage(after, page.events.filter(({ eventId }) => eventId > after));
  }

  /** Returns the index of the first page that ends after a position. */
  #indexAfter(after: number): number {
    let low = 0;
    let high = this.#pages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#pages[middle]!.last > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  async #read(loop: SharedLoop, onStarted: () => void): Promise<void> {
    const { clock, store } = this.ctx;
    this.#first = this.#last = await lastEventId(this.ctx);
    onStarted();
    let wokenAt = clock.monotonic();
    while (!loop.over.aborted) {
      loop.hasChanged = false;
      const page = await readPage(this.ctx, this.#last, PAGE_EVENTS);
      const hasEvents = page.events.length > 0;
      if (hasEvents) this.#keep(page);
      const now = clock.monotonic();
      if (hasEvents || now - wokenAt >= BEAT_MS) {
        wokenAt = now;
        await this.#wakeCallers(loop);
      }
      if (hasEvents && page.events.length < PAGE_EVENTS) await this.#pause(loop);
      if (!hasEvents) await loop.sleepUntilChange(store.isShared ? POLL_MS : BEAT_MS);
    }
  }

  #keep(page: LogPage): void {
    this.#pages.push(page);
    this.#characters += page.characters;
    this.#last = page.last;
    while (this.#pages.length > 1 && this.#characters > this.keptCharacters) {
      const oldest = this.#pages.shift()!;
      this.#characters -= oldest.characters;
      this.#first = oldest.last;
    }
  }

  async #wakeCallers({ callers }: SharedLoop): Promise<void> {
    for (const caller of callers) {
      caller.wake();
      const turn = this.ctx.turns.spend(WAKE_UNITS);
      if (turn) await turn;
    }
  }

  async #pause({ callers, over }: SharedLoop): Promise<void> {
    const pauseMs = Math.floor(callers.size / 20) * PAUSE_MS_PER_20_CALLERS;
    if (pauseMs > 0) await this.ctx.clock.sleep(pauseMs, over);
  }
}

/** Reads a page for one caller, in turn with other long work. */
async function readOwnPage(
  ctx: LogReaderContext,
  after: number,
  share: MemoryShare | undefined,
): Promise<LogPage> {
  await share?.room();
  await ctx.turns.spend(OWN_PAGE_UNITS);
  const page = await readPage(ctx, after, OWN_PAGE_EVENTS);
  share?.hold(BYTES_PER_CHARACTER * page.characters);
  await ctx.turns.spend(page.characters);
  return page;
}

async function readPage(ctx: LogReaderContext, after: number, limit: number): Promise<LogPage> {
  const events = await listAllEvents(ctx, { after, limit });
  return toPage(
    after,
    events.map((event) => ({
      eventId: event.event_id,
      agentId: event.agent_id,
      type: event.type,
      text: JSON.stringify(event),
    })),
  );
}

function toPage(after: number, events: readonly LoggedEvent[]): LogPage {
  const characters = events.reduce((sum, { text }) => sum + text.length, 0);
  return { after, last: events.at(-1)?.eventId ?? after, events, characters };
}
