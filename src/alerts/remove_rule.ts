import { type ChangeContext, changeRules } from "./change_rules.ts";
import { ruleNotFound } from "./get_rule.ts";

/** Removes a rule. Its history stays, and what it has told of is still delivered. Throws `not_found`. */
export async function removeRule(ctx: ChangeContext, ruleId: string): Promise<void> {
  const results = await changeRules(ctx, [
    { sql: "SELECT 1 FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_claims WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
  ]);
  if (results[0]!.rows.length === 0) throw ruleNotFound(ruleId);
}
