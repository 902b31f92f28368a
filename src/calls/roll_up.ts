import { advanceCounters, type AlertContext, announceAlerts, readFired } from "../alerts/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import { rollUpTotals } from "../ledger/mod.ts";
import { type LedgerState, MAX_TAIL } from "./booking_set.ts";
import type { CallContext } from "./context.ts";

/** The roll-ups of a process, which follow the commits of its bookings. One runs at a time; requests meanwhile share the next. */
export class RollUps {
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(private readonly maxTail = MAX_TAIL) {}

  /**
   * Evaluates the rules for calls that were booked before a rule was known here, and rolls up a long tail. Returns undefined
   * if neither is due. Never rejects: failures are logged, and the next booking retries.
   */
  followUp(ctx: CallContext, ledger: LedgerState): Promise<void> | undefined {
    const { hasRules, unrolledCalls, undecidedCalls } = ledger;
    if (!(hasRules && undecidedCalls > 0) && Math.max(unrolledCalls, undecidedCalls) < this.maxTail) {
      return undefined;
    }
    const work = this.#running ? this.#next ??= this.#running.then(() => this.#start(ctx)) : this.#start(ctx);
    ctx.keepAlive?.(work);
    return work;
  }

  /** Resolves when no roll-up is running. */
  async ended(): Promise<void> {
    while (this.#running || this.#next) await (this.#next ?? this.#running);
  }

  #start(ctx: CallContext): Promise<void> {
    this.#next = undefined;
    const running = rollUp(ctx).catch((error) =>
      ctx.log.warn("Cannot roll up the totals", { reason: messageOf(error) })
    ).finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return this.#running = running;
  }
}

const READ_TAIL = `SELECT (SELECT coalesce(max(position), 0) FROM calls) -
  (SELECT position FROM rollup_positions WHERE name = 'totals')`;

/** Rolls up the whole ledger, a bounded number of calls per commit. Any process may do this at any time. */
export async function rollUp(ctx: AlertContext & Pick<CallContext, "bus" | "log">): Promise<void> {
  for (;;) {
    const statements = advanceCounters(ctx);
    const results = await ctx.store.write([...statements, ...rollUpTotals(), { sql: READ_TAIL }]);
    announceAlerts(ctx, readFired(results.slice(0, statements.length)));
    if (results.at(-1)!.rows[0]![0] as bigint <= 0n) return;
  }
}
