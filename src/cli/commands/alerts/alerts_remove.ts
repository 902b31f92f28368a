import type { Command, CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { findRuleId, RULE_ARG } from "./find_rule.ts";

/** `purser alerts remove RULE`. The API's response has no body, so `--json` prints nothing. */
export const alertsRemove: Command = {
  name: "alerts remove",
  args: [RULE_ARG],
  summary: "Remove an alert rule; its history stays",
  options: {},
  examples: [['purser alerts remove "Daily limit"', ""]],
  needsDatabase: true,
  run: removeRule,
};

async function removeRule(ctx: CommandContext): Promise<void> {
  const ruleId = await findRuleId(ctx);
  const { api } = await ctx.connect();
  await api.alerts.rules[":rule_id"].$delete({ param: { rule_id: idInPath(ruleId) } });
  if (!ctx.isJson) ctx.print(`Removed rule ${ruleId}; its history stays`);
}
