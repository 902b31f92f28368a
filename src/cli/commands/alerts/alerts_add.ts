import { MAX_COOLDOWN_SECONDS } from "../../../contract/limits.ts";
import { REPEATS, SEVERITIES, THRESHOLD_TYPES } from "../../../contract/values.ts";
import { parseUsd, toUsd } from "../../../kernel/money.ts";
import type { CommandContext } from "../../command.ts";
import { checkId } from "../../parse/command_id.ts";
import { describeRule } from "../../render/describe_rule.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Options } from "../../parse/options.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { UsageError } from "../../parse/usage_error.ts";

const REQUIRED = ["name", "threshold-usd", "threshold-type", "severity"] as const;

/** `purser alerts add …` */
export async function alertsAdd(ctx: CommandContext): Promise<void> {
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
  if (text.trim() === "") throw new Error("a rule needs a name that can be seen");
  return text;
}

function readThreshold(text: string): number {
  const threshold = parseUsd(text.replace(/^\$/, ""));
  if (threshold <= 0n) throw new Error(`${text} is not more than 0`);
  return toUsd(threshold);
}
