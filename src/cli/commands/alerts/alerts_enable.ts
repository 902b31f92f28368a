import type { Command, CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { findRuleId, RULE_ARG } from "./find_rule.ts";

/** `purser alerts enable RULE` */
export const alertsEnable: Command = {
  name: "alerts enable",
  args: [RULE_ARG],
  summary: "Enable an alert rule",
  detail: "If the threshold is already reached, the rule fires when the next model call is booked.",
  options: {},
  examples: [['purser alerts enable "Daily limit"', ""]],
  needsDatabase: true,
  run: (ctx) => setRuleEnabled(ctx, true),
};

/** Enables or disables the rule that a command has as its argument. */
async function setRuleEnabled(ctx: CommandContext, enabled: boolean): Promise<void> {
  const ruleId = await findRuleId(ctx);
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

/** `purser alerts disable RULE` */
export const alertsDisable: Command = {
  name: "alerts disable",
  args: [RULE_ARG],
  summary: "Disable an alert rule",
  options: {},
  examples: [["purser alerts disable rule_42", ""]],
  needsDatabase: true,
  run: (ctx) => setRuleEnabled(ctx, false),
};
