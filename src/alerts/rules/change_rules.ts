import type { Bus } from "../../bus/mod.ts";
import type { Log } from "../../kernel/log.ts";
import type { ResultSet, Statement } from "../../store/mod.ts";
import { announceAlerts } from "../firing/announce_alerts.ts";
import type { AlertContext } from "../context.ts";
import { advanceCounters, readFired } from "../firing/decide_alerts.ts";

/** What a change of rules needs of the process it is made in. */
export type ChangeContext = AlertContext & { bus: Bus; log: Log };

/**
 * Commits a change of rules. Calls that were booked before are measured by the rules as they were, also those that a
 * process without a sight of the rules has booked; what they fire is announced. Returns the results of the statements.
 */
export async function changeRules(
  ctx: ChangeContext,
  statements: readonly Statement[],
): Promise<ResultSet[]> {
  const pass = advanceCounters(ctx);
  const results = await ctx.store.write([...pass, ...statements]);
  const decided = results.splice(0, pass.length);
  announceAlerts(ctx, readFired(decided));
  return results;
}
