import {
  createStepReader,
  type ImportedEvent,
  type ReplayEvent,
  type ReplayStep,
  RunTracker,
} from "../../../../contract/replay/mod.ts";
import { request, type RequestError } from "../../../hooks/request.ts";
import { apiPath } from "../../../hooks/route.ts";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../../../../contract/sessions.ts";
import { refreshEvery } from "../../../hooks/data.ts";

/** The events of one request. */
const PAGE = 500;
/** The most steps that a page keeps; the command line shows the rest. */
const MAX_STEPS = 200_000;

/** The log of a session, read page by page as far as it is needed. */
export class SessionLog {
  readonly steps: ReplayStep[] = [];
  readonly tracker = new RunTracker();
  /** True once the end of the log is read, or as much as a page keeps. */
  isAtEnd = false;
  isReading = false;
  error: RequestError | undefined;
  readonly #reader = createStepReader();
  readonly #controller = new AbortController();
  readonly #path: string;
  #isOwn: boolean;
  #after = 0;
  #reading: Promise<void> | undefined;
  #isStopped = false;

  /** The events of the session's own log when the page was opened, so that none is read behind them. */
  readonly #known: number;

  /** `onChange` is called after every page. */
  constructor(
    sessionId: string,
    { events, hasImported }: { events: number; hasImported: boolean },
    private readonly onChange: () => void,
  ) {
    this.#path = `/sessions/${encodeURIComponent(sessionId)}/events`;
    this.#isOwn = !hasImported;
    this.#known = events;
  }

  /** True if there are more steps than a page keeps. */
  get isCut(): boolean {
    return this.steps.length >= MAX_STEPS;
  }

  /** Reads the next page, unless the end is reached. At the end of the log of a run in progress, `isLive` reads on. */
  async more({ isLive = false } = {}): Promise<void> {
    if (this.isAtEnd && (!isLive || this.isCut)) return;
    this.#reading ??= this.#readPage().finally(() => {
      this.#reading = undefined;
      this.isReading = false;
      this.onChange();
    });
    await this.#reading;
  }

  /** Reads until a step is found, or the end; returns its index, -1 without one. `stop()` ends it. */
  async find(isFound: (step: ReplayStep) => boolean): Promise<number> {
    this.#isStopped = false;
    for (let from = 0;;) {
      for (; from < this.steps.length; from++) if (isFound(this.steps[from]!)) return from;
      if (this.isAtEnd || this.#isStopped || this.#controller.signal.aborted) return -1;
      await this.more();
      if (this.error) return -1;
    }
  }

  /** Ends a `find()` after the page that it reads. */
  stop(): void {
    this.#isStopped = true;
  }

  close(): void {
    this.#controller.abort();
  }

  async #readPage(): Promise<void> {
    this.isReading = true;
    try {
      const path = apiPath(this.#isOwn ? this.#path : `${this.#path}/imported`, {
        after: this.#after,
        limit: PAGE,
      });
      const { value } = await request<(ReplayEvent | ImportedEvent)[]>(path, {
        signal: this.#controller.signal,
      });
      this.error = undefined;
      for (const event of value) this.#keep(this.#reader.add(event));
      const last = value.at(-1);
      const next = last && ("position" in last ? last.position : last.seq);
      // Large events make pages short: the end is the empty one.
      if (next != null && next > this.#after) this.#after = next;
      else if (this.#isOwn) this.isAtEnd = true;
      else [this.#isOwn, this.#after] = [true, 0];
      if (this.#isOwn && this.#after >= this.#known) this.isAtEnd = true;
      if (this.isAtEnd) this.#keep(this.#reader.end());
      if (this.isCut) this.isAtEnd = true;
    } catch (error) {
      if (!this.#controller.signal.aborted) this.error = error as RequestError;
    }
  }

  #keep(steps: readonly ReplayStep[]): void {
    for (const step of steps) {
      this.steps.push(step);
      this.tracker.add(step);
    }
  }
}

/** The time between two requests for new events of a run in progress. */
const LIVE_MS = 2_000;

/** Returns the log of a session, and renders again with each page. It follows a run in progress. */
export function useLog({ session_id, event_log_count, restored_from, active_run_id }: Session): SessionLog {
  const isLive = active_run_id !== null;
  const [, render] = useState(0);
  const ref = useRef<SessionLog | undefined>(undefined);
  ref.current ??= new SessionLog(
    session_id,
    { events: event_log_count, hasImported: restored_from !== undefined },
    () => render((count) => count + 1),
  );
  const log = ref.current;
  useEffect(() => {
    log.more();
    return () => log.close();
  }, []);
  useEffect(() => (isLive ? refreshEvery(LIVE_MS, () => log.more({ isLive })) : undefined), [isLive]);
  return log;
}
