import type { AlertContext } from "./context.ts";
import { ruleNotFound } from "./get_rule.ts";

/** Removes a rule. Its history stays, and what it has told of is still delivered. Throws `not_found`. */
export async function removeRule(ctx: Pick<AlertContext, "store">, ruleId: string): Promise<void> {
  const results = await ctx.store.write([
    { sql: "SELECT 1 FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_claims WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
  ]);
  if (results[0]!.rows.length === 0) throw ruleNotFound(ruleId);
}
