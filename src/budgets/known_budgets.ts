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
  #changes = 0;

  constructor(
    private readonly ctx: { store: Pick<Store, "isShared" | "read">; clock: Pick<Clock, "monotonic"> },
  ) {}

  /**
   * Reads whether there are budgets; undefined if that is known. Another process may add one at any time. Callers at the same
   * time share the read, so that they continue in their order.
   */
  refresh(): Promise<void> | undefined {
    const { store, clock } = this.ctx;
    if (clock.monotonic() - this.#readAt < (store.isShared ? REFRESH_MS : Infinity)) return undefined;
    return this.#reading ??= this.#read().finally(() => this.#reading = undefined);
  }

  async #read(): Promise<void> {
    const { store, clock } = this.ctx;
    const startedAt = clock.monotonic();
    const changes = this.#changes;
    const { rows } = await store.read({ sql: READ });
    if (changes !== this.#changes) return; // by this process, meanwhile
    [this.mayExist, this.mayBeStrict, this.mayWatch] = rows[0]!.map((value) => value === 1n) as [
      boolean,
      boolean,
      boolean,
    ];
    this.#readAt = startedAt;
  }

  /** Called after a change of budgets by this process. */
  changed(): void {
    this.#changes++;
    this.#readAt = -Infinity;
    this.mayExist = this.mayBeStrict = this.mayWatch = true;
  }
}
