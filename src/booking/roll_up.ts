import { type AlertContext, announceAlerts, decideAlerts, readFired } from "../alerts/mod.ts";
import { messageOf } from "../errors.ts";
import { rollUpTotals } from "../ledger/mod.ts";
import type { BookingContext } from "./context.ts";
import type { LedgerState } from "./booking_set.ts";

/** How many calls may follow the totals before a process that books rolls them up. */
export const MAX_TAIL = 512;

/** The roll-ups under way, by process. */
const underWay = new WeakMap<object, Promise<void>>();

/**
 * Does what a commit has left to do: decides on calls that were booked without a sight of the rules, and rolls up a tail
 * that has become long. One at a time in a process; a failure is logged, and the next booking tries again.
 */
export function followUp(ctx: BookingContext, ledger: LedgerState): Promise<void> | undefined {
  const isDue = ledger.unrolledCalls >= MAX_TAIL || ledger.undecidedCalls >= MAX_TAIL ||
    (ledger.hasRules && ledger.undecidedCalls > 0);
  if (!isDue) return undefined;
  const running = underWay.get(ctx.rules);
  if (running && !ledger.hasRules) return running;
  const work = (running ?? Promise.resolve()).then(() => rollUp(ctx)).catch((error) =>
    ctx.log.warn("The totals could not be rolled up", { reason: messageOf(error) })
  ).finally(() => {
    if (underWay.get(ctx.rules) === work) underWay.delete(ctx.rules);
  });
  underWay.set(ctx.rules, work);
  ctx.keepAlive?.(work);
  return work;
}

const READ_TAIL = `SELECT (SELECT coalesce(max(position), 0) FROM calls) -
  (SELECT position FROM rollup_positions WHERE name = 'totals')`;

/** Rolls up the whole ledger, a bounded number of calls in a commit. Any process may, at any time. */
export async function rollUp(
  ctx: AlertContext & Pick<BookingContext, "bus" | "log">,
): Promise<void> {
  for (;;) {
    const { statements } = decideAlerts(ctx);
    const results = await ctx.store.write([...statements, ...rollUpTotals(), { sql: READ_TAIL }]);
    announceAlerts(ctx, readFired(results.slice(0, statements.length)));
    if (results.at(-1)!.rows[0]![0] as bigint <= 0n) return;
  }
}
