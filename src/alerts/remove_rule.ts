import type { AlertContext } from "./context.ts";
import { readRule } from "./get_rule.ts";

/** Removes a rule. Its history stays, and what it has fired is still delivered. Throws `not_found`. */
export async function removeRule(
  ctx: Pick<AlertContext, "store" | "query">,
  ruleId: string,
): Promise<void> {
  // Before the write, whose answer may be lost: what is read with it may be the state after it.
  await readRule(ctx.query, ruleId);
  await ctx.store.write([
    { sql: "DELETE FROM alert_claims WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
  ]);
}
