import { type Command, type CommandContext, flag } from "../../command.ts";
import { describeRule } from "../../render/describe_rule.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Options } from "../../parse/options.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { readRuleFields, RULE_OPTIONS } from "./rule_options.ts";

const REQUIRED = ["name", "threshold-usd", "threshold-type", "severity"] as const;

/** `purser alerts add …` */
export const alertsAdd: Command = {
  name: "alerts add",
  args: [],
  summary: "Add an alert rule",
  detail:
    "When spending reaches the threshold, an alert goes to every channel whose min_severity it reaches; see purser " +
    "channels list. While spending stays at or above it, the alert is repeated after each cooldown, unless --repeat says " +
    "otherwise. An hour is the last 60 minutes; days and months are in UTC.",
  options: { ...RULE_OPTIONS, disabled: flag("Add the rule disabled") },
  examples: [
    [
      'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning',
      "All agents together",
    ],
    [
      "purser alerts add --name Runaway --threshold-usd 0.50 --threshold-type per_run_usd --severity critical " +
      "--agent researcher --cooldown 0",
      "Alert on every call once a run has cost $0.50",
    ],
  ],
  run: addRule,
};

async function addRule(ctx: CommandContext): Promise<void> {
  const rule = readRule(ctx.options);
  const { api } = await ctx.connect();
  await printAnswer(
    ctx,
    await api.alerts.rules.$post({ json: rule }),
    (added) => escapeText(`Added rule ${added.rule_id} ${added.name}: ${describeRule(added)}`),
  );
}

function readRule(options: Options) {
  const missing = REQUIRED.filter((name) => !options.has(name)).map((name) => `--${name}`);
  if (missing.length > 0) {
    throw new UsageError(`Cannot add a rule without ${missing.join(", ")}`, options.command);
  }
  const { name, threshold_usd, threshold_type, severity, ...others } = readRuleFields(options);
  return {
    ...others,
    name: name!,
    threshold_usd: threshold_usd!,
    threshold_type: threshold_type!,
    severity: severity!,
  };
}
