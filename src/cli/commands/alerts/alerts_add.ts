import { DEFAULT_COOLDOWN_SECONDS, MAX_COOLDOWN_SECONDS } from "../../../contract/limits.ts";
import { REPEATS, SEVERITIES, THRESHOLD_TYPES } from "../../../contract/values.ts";
import { parseUsd, toUsd } from "../../../kernel/money.ts";
import { type Command, type CommandContext, flag, option } from "../../command.ts";
import { checkId } from "../../parse/command_id.ts";
import { describeRule } from "../../render/describe_rule.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Options } from "../../parse/options.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { UsageError } from "../../parse/usage_error.ts";

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
  options: {
    name: option("NAME", "Name shown in notifications"),
    "threshold-usd": option("USD", "Threshold in USD"),
    "threshold-type": option("TYPE", "Window to measure", { oneOf: THRESHOLD_TYPES }),
    severity: option("SEVERITY", "Severity", { oneOf: SEVERITIES }),
    "agent-id": option("NAME", "Only the spending of this agent", { live: "agent" }),
    cooldown: option("SECONDS", `Minimum time between two alerts (default ${DEFAULT_COOLDOWN_SECONDS})`),
    repeat: option("MODE", "cooldown (default), or once_per_window: once for each run, session, day, …", {
      oneOf: REPEATS,
    }),
    disabled: flag("Add the rule disabled"),
  },
  examples: [
    [
      'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning',
      "All agents together",
    ],
    [
      "purser alerts add --name Runaway --threshold-usd 0.50 --threshold-type per_run_usd --severity critical " +
      "--agent-id researcher --cooldown 0",
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
  return {
    name: options.read("name", readName)!,
    threshold_usd: options.read("threshold-usd", readThreshold)!,
    threshold_type: options.oneOf("threshold-type", THRESHOLD_TYPES)!,
    severity: options.oneOf("severity", SEVERITIES)!,
    agent_id: options.read("agent-id", checkId),
    cooldown_seconds: options.wholeNumber("cooldown", { min: 0, max: MAX_COOLDOWN_SECONDS }),
    repeat: options.oneOf("repeat", REPEATS),
    enabled: options.has("disabled") ? false : undefined,
  };
}

function readName(text: string): string {
  if (text.trim() === "") throw new Error("the name is blank");
  return text;
}

function readThreshold(text: string): number {
  const threshold = parseUsd(text.replace(/^\$/, ""));
  if (threshold <= 0n) throw new Error(`${text} is not greater than 0`);
  return toUsd(threshold);
}
