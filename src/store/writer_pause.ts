/** A gap between commits that is at least this long lets another process write. */
export const PAUSE_MS = 3;

const LONGEST_RUN_MS = 20;

/** Tells a process that commits without a pause when to let other processes write. */
export class WriterPause {
  #begunAt = -Infinity;
  #endedAt = -Infinity;

  /** Whether the commit that is about to begin must wait for `PAUSE_MS` first. */
  isDue(now: number): boolean {
    const isRunning = now - this.#endedAt < PAUSE_MS;
    const isDue = isRunning && now - this.#begunAt >= LONGEST_RUN_MS;
    if (!isRunning || isDue) this.#begunAt = now;
    return isDue;
  }

  /** Takes note of the end of a commit. */
  end(now: number): void {
    this.#endedAt = now;
  }
}
