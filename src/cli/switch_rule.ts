import type { CommandContext } from "./command.ts";
import { idInPath, readId } from "./parse/command_id.ts";
import { escapeText } from "./terminal/escape_text.ts";
import { printAnswer } from "./render/print_answer.ts";

/** Enables or disables the rule that a command has as its argument. */
export async function switchRule(ctx: CommandContext, enabled: boolean): Promise<void> {
  const ruleId = readId(ctx);
  const { api } = await ctx.connect();
  const answer = await api.alerts.rules[":rule_id"].$patch({
    param: { rule_id: idInPath(ruleId) },
    json: { enabled },
  });
  await printAnswer(
    ctx,
    answer,
    (rule) => escapeText(`${rule.enabled ? "Enabled" : "Disabled"} rule ${rule.rule_id} ${rule.name}`),
  );
}
