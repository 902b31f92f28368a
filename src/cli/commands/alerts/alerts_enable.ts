import type { CommandContext } from "../../command.ts";
import { switchRule } from "../../switch_rule.ts";

/** `purser alerts enable RULE` */
export function alertsEnable(ctx: CommandContext): Promise<void> {
  return switchRule(ctx, true);
}
