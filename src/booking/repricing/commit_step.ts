import type { Statement } from "../../store/mod.ts";
import { READ_LEDGER, toLedgerState } from "../booking_set.ts";
import type { BookingContext } from "../context.ts";

/** Commits adjustments, and rolls up the totals and counters before the next ones. */
export async function commitStep(ctx: BookingContext, statements: readonly Statement[]): Promise<void> {
  const results = await ctx.store.write([...statements, { sql: READ_LEDGER }]);
  await ctx.rollUps.followUp(ctx, toLedgerState(results.at(-1)!));
}
