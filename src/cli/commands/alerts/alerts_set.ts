import { type Command, type CommandContext, flag } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { checkExclusive } from "../../parse/given_fields.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { describeRule } from "../../render/describe_rule.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { findRuleId, RULE_ARG } from "./find_rule.ts";
import { readRuleFields, RULE_OPTIONS } from "./rule_options.ts";

/** `purser alerts set RULE …` */
export const alertsSet: Command = {
  name: "alerts set",
  args: [RULE_ARG],
  summary: "Change an alert rule",
  detail:
    "Changes only the given fields. A new threshold, type, agent or repeat resets the windows in which the rule has fired.",
  options: {
    ...RULE_OPTIONS,
    "all-agents": flag("Undo --agent: the spending of all agents"),
    enabled: flag("Enable the rule"),
  },
  examples: [
    ['purser alerts set "Daily limit" --threshold-usd 25', ""],
    ["purser alerts set rule_42 --name Nightly --all-agents --cooldown 600", "By its id"],
  ],
  needsDatabase: true,
  run: setRule,
};

async function setRule(ctx: CommandContext): Promise<void> {
  const changes = readChanges(ctx);
  const ruleId = await findRuleId(ctx);
  const { api } = await ctx.connect();
  const answer = await api.alerts.rules[":rule_id"].$patch({
    param: { rule_id: idInPath(ruleId) },
    json: changes,
  });
  await printAnswer(
    ctx,
    answer,
    (rule) => escapeText(`Changed rule ${rule.rule_id} ${rule.name}: ${describeRule(rule)}`),
  );
}

function readChanges({ options }: CommandContext) {
  checkExclusive(options, ["agent", "all-agents"], ["enabled", "disabled"]);
  const changes = {
    ...readRuleFields(options),
    ...(options.has("all-agents") && { agent_id: null }),
    ...(options.has("enabled") && { enabled: true }),
  };
  if (Object.values(changes).every((value) => value === undefined)) {
    throw new UsageError("Cannot change a rule without an option that says what", options.command);
  }
  return changes;
}
