import type { AlertContext } from "./context.ts";
import { advanceCounters } from "./decide_alerts.ts";
import { readRule } from "./get_rule.ts";

/** Removes a rule. Its history stays, and what it has fired is still delivered. Throws `not_found`. */
export async function removeRule(
  ctx: Pick<AlertContext, "store" | "query" | "clock" | "ids" | "outboxChannels">,
  ruleId: string,
): Promise<void> {
  // Before the write, whose answer may be lost: what is read with it may be the state after it.
  await readRule(ctx.query, ruleId);
  await ctx.store.write([
    ...advanceCounters(ctx), // calls that were booked before are decided on while it is there
    { sql: "DELETE FROM alert_claims WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
  ]);
}
