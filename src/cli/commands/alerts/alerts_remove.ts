import type { CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";

/** `purser alerts remove RULE`. The API answers without a body, so `--json` prints nothing. */
export async function alertsRemove(ctx: CommandContext): Promise<void> {
  const ruleId = readId(ctx);
  const { api } = await ctx.connect();
  await api.alerts.rules[":rule_id"].$delete({ param: { rule_id: idInPath(ruleId) } });
  if (!ctx.isJson) ctx.print(`Removed rule ${ruleId}; its history stays`);
}
