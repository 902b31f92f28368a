/** A gap between commits in which another process can take the write lock; waiting ones retry at least every 20 ms. */
const PAUSE_MS = 3;

/** The longest run of commits without a pause, while others write. */
const LONGEST_RUN_MS = 20;

/** The time after another process has written during which others count as writing. */
const OTHERS_WRITE_MS = 1_000;

/** The options of `WriterPause`. */
interface WriterPauseOptions {
  clock: { monotonic(): number; sleep(ms: number): Promise<void> };
  /** Changes when another connection has written: `PRAGMA data_version`. */
  readVersion(): unknown;
}

/**
 * Lets other processes write while this one commits continuously: every 20 ms, if others have written recently. A process
 * that is alone loses nothing; another that starts to write gets its turn between two commits, a little later.
 */
export class WriterPause {
  #begunAt = -Infinity;
  #endedAt = -Infinity;
  #version: unknown;
  #othersWroteAt = -Infinity;

  constructor(private readonly options: WriterPauseOptions) {}

  /** Called at the end of each commit; `isOwn` for one of another connection of this process. */
  commitEnded({ isOwn = false } = {}): void {
    this.#endedAt = this.options.clock.monotonic();
    if (isOwn) this.#version = this.options.readVersion();
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
