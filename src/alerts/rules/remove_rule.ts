import type { AlertContext } from "../context.ts";
import { type ChangeContext, changeRules } from "./change_rules.ts";
import { readRule } from "./get_rule.ts";

/** Removes a rule. Its history stays, and what it has fired is still delivered. Throws `not_found`. */
export async function removeRule(
  ctx: ChangeContext & Pick<AlertContext, "query">,
  ruleId: string,
): Promise<void> {
  // Before the write, whose answer may be lost: what is read with it may be the state after it.
  await readRule(ctx.query, ruleId);
  await changeRules(ctx, [
    { sql: "DELETE FROM alert_claims WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
  ]);
}
