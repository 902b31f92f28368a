import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";

/** `purser alerts remove RULE`. The API's response has no body, so `--json` prints nothing. */
export const alertsRemove: Command = {
  name: "alerts remove",
  args: [arg("RULE", { live: "rule" })],
  summary: "Remove an alert rule; its history stays",
  options: {},
  examples: [["purser alerts remove rule_42", ""]],
  needsDatabase: true,
  run: removeRule,
};

async function removeRule(ctx: CommandContext): Promise<void> {
  const ruleId = readId(ctx);
  const { api } = await ctx.connect();
  await api.alerts.rules[":rule_id"].$delete({ param: { rule_id: idInPath(ruleId) } });
  if (!ctx.isJson) ctx.print(`Removed rule ${ruleId}; its history stays`);
}
