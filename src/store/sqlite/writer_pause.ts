/** A gap between commits in which another process gets the write lock; those that wait look for it every 20 ms at most. */
const PAUSE_MS = 3;

const LONGEST_RUN_MS = 20;

/** For so long after another process has written, others are taken to be writing still. */
const OTHERS_WRITE_MS = 1_000;

/** What the pauses of a process depend on. */
export interface WriterPauseOptions {
  clock: { monotonic(): number; sleep(ms: number): Promise<void> };
  /** Changes when another connection has written: `PRAGMA data_version`. */
  readVersion(): unknown;
}

/**
 * Lets other processes write while this one commits without a pause: every 20 ms, if others have written lately. One that
 * is alone with its file loses nothing; another that comes gets in between two commits, a little later.
 */
export class WriterPause {
  #begunAt = -Infinity;
  #endedAt = -Infinity;
  #version: unknown;
  #othersWroteAt = -Infinity;

  constructor(private readonly options: WriterPauseOptions) {}

  /** Called at the end of each commit. */
  commitEnded(): void {
    this.#endedAt = this.options.clock.monotonic();
  }

  /** Called between two commits that follow each other at once. */
  between(): Promise<void> | undefined {
    const { clock, readVersion } = this.options;
    const now = clock.monotonic();
    if (now - this.#endedAt >= PAUSE_MS) this.#begunAt = now; // a gap of its own
    if (now - this.#begunAt < LONGEST_RUN_MS) return undefined;
    this.#begunAt = now;
    const version = readVersion();
    if (this.#version !== undefined && version !== this.#version) this.#othersWroteAt = now;
    this.#version = version;
    return now - this.#othersWroteAt < OTHERS_WRITE_MS ? clock.sleep(PAUSE_MS) : undefined;
  }
}
