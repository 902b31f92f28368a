import type { Clock } from "../../kernel/clock.ts";
import { extendCalendars, hasToExtend, KNOWN_UNTIL } from "../../ledger/mod.ts";
import { indexedBy, type Store } from "../../store/mod.ts";

/** The interval of reading a shared database again: a budget that another process adds is in force within it. */
const REFRESH_MS = 1_000;

// Reads only the indexes of enabled budgets, so that it takes the same time for any number of budgets.
const READ = `SELECT EXISTS (SELECT 1 FROM budgets ${indexedBy("budgets_enabled")} WHERE enabled = 1),
  EXISTS (SELECT 1 FROM budgets ${indexedBy("budgets_strict")} WHERE enabled = 1 AND mode = 'strict'),
  EXISTS (SELECT 1 FROM budgets ${
  indexedBy("budgets_strict")
} WHERE enabled = 1 AND mode = 'stop' AND action = 'watch'
    UNION ALL SELECT 1 FROM budgets ${
  indexedBy("budgets_strict")
} WHERE enabled = 1 AND mode = 'strict' AND action = 'watch'), ${KNOWN_UNTIL}`;

/** The kinds of enabled budgets that may exist. False means that there are certainly none, so that booking skips their work. */
export class KnownBudgets {
  mayExist = true;
  /** Calls are bounded only where a strict budget may count or watch them, since that takes time. */
  mayBeStrict = true;
  mayWatch = true;
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(
    private readonly ctx: {
      store: Pick<Store, "isShared" | "read" | "write">;
      clock: Pick<Clock, "monotonic" | "now">;
    },
  ) {}

  /**
   * Reads whether there are budgets, unless that is known. Another process may add one at any time. Concurrent callers share
   * one read and continue in their order. Never rejects: after a failure every kind may exist, and the write that follows
   * fails with the reason.
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
      const [mayExist, mayBeStrict, mayWatch, until] = rows[0]!;
      // Windows are computed long before they begin, unless no process has run meanwhile.
      if (hasToExtend(until == null ? null : Number(until), this.ctx.clock.now())) {
        await extendCalendars(this.ctx);
      }
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
