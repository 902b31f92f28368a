import type { CommandContext } from "../../command.ts";
import { switchRule } from "../../switch_rule.ts";

/** `purser alerts disable RULE` */
export function alertsDisable(ctx: CommandContext): Promise<void> {
  return switchRule(ctx, false);
}
