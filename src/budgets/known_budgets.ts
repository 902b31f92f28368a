import type { Clock } from "../kernel/clock.ts";
import type { Store } from "../store/mod.ts";

/** The age at which the knowledge of a process about a shared database is read again: a new budget holds within this. */
const REFRESH_MS = 1_000;

// By the indexes of enabled budgets alone, whatever their number.
const READ = `SELECT EXISTS (SELECT 1 FROM budgets INDEXED BY budgets_enabled WHERE enabled = 1),
  EXISTS (SELECT 1 FROM budgets INDEXED BY budgets_strict WHERE enabled = 1 AND mode = 'strict'),
  EXISTS (SELECT 1 FROM budgets INDEXED BY budgets_strict WHERE enabled = 1 AND mode = 'stop' AND action = 'watch'
    UNION ALL SELECT 1 FROM budgets INDEXED BY budgets_strict WHERE enabled = 1 AND mode = 'strict' AND action = 'watch')`;

/** The kinds of enabled budgets that may exist: false where there are certainly none, and booking skips the work for them. */
export class KnownBudgets {
  mayExist = true;
  /** Calls are bounded only where a strict budget may count or watch them, since that takes time. */
  mayBeStrict = true;
  mayWatch = true;
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(
    private readonly ctx: { store: Pick<Store, "isShared" | "read">; clock: Pick<Clock, "monotonic"> },
  ) {}

  /**
   * Reads whether there are budgets, unless that is known. Another process may add one at any time. Callers at the same time
   * wait for one read, and continue in their order. Never rejects: after a failure anything may exist, and the write that
   * follows reports what is wrong.
   */
  async refresh(): Promise<void> {
    const { store, clock } = this.ctx;
    const now = clock.monotonic();
    if (now - this.#readAt >= (store.isShared ? REFRESH_MS : Infinity)) {
      this.#readAt = now;
      this.#reading = this.#read(now);
    }
    await this.#reading;
  }

  async #read(now: number): Promise<void> {
    try {
      const { rows } = await this.ctx.store.read({ sql: READ });
      if (this.#readAt !== now) return; // changed meanwhile
      const [mayExist, mayBeStrict, mayWatch] = rows[0]!;
      this.mayExist = mayExist === 1n;
      this.mayBeStrict = mayBeStrict === 1n;
      this.mayWatch = mayWatch === 1n;
    } catch {
      this.changed();
    }
  }

  /** Called after a change of budgets by this process: they are read again. */
  changed(): void {
    this.#readAt = -Infinity;
    this.mayExist = this.mayBeStrict = this.mayWatch = true;
  }
}
