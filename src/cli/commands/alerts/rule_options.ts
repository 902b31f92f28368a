import { DEFAULT_COOLDOWN_SECONDS, MAX_COOLDOWN_SECONDS } from "../../../contract/limits.ts";
import { REPEATS, SEVERITIES, THRESHOLD_TYPES } from "../../../contract/values.ts";
import { parseUsd, toUsd } from "../../../kernel/money.ts";
import { flag, option } from "../../command.ts";
import { checkId } from "../../parse/command_id.ts";
import { checkName } from "../../parse/given_fields.ts";
import type { Options } from "../../parse/options.ts";

/** The options for the fields of a rule. */
export const RULE_OPTIONS = {
  name: option("NAME", "Name shown in notifications"),
  "threshold-usd": option("USD", "Threshold in USD"),
  "threshold-type": option("TYPE", "Window to measure", { oneOf: THRESHOLD_TYPES }),
  severity: option("SEVERITY", "Severity", { oneOf: SEVERITIES }),
  agent: option("NAME", "Only the spending of this agent", { live: "agent" }),
  cooldown: option("SECONDS", `Minimum time between two alerts (default ${DEFAULT_COOLDOWN_SECONDS})`),
  repeat: option("MODE", "cooldown (default), or once_per_window: once for each run, session, day, …", {
    oneOf: REPEATS,
  }),
  disabled: flag("Disable the rule"),
};

/** Returns the fields that are given, and undefined for the others. Throws a `UsageError`. */
export function readRuleFields(options: Options) {
  return {
    name: options.read("name", checkName),
    threshold_usd: options.read("threshold-usd", readThreshold),
    threshold_type: options.oneOf("threshold-type", THRESHOLD_TYPES),
    severity: options.oneOf("severity", SEVERITIES),
    agent_id: options.read("agent", checkId),
    cooldown_seconds: options.wholeNumber("cooldown", { min: 0, max: MAX_COOLDOWN_SECONDS }),
    repeat: options.oneOf("repeat", REPEATS),
    enabled: options.has("disabled") ? false : undefined,
  };
}

function readThreshold(text: string): number {
  const threshold = parseUsd(text.replace(/^\$/, ""));
  if (threshold <= 0n) throw new Error(`${text} is not greater than 0`);
  return toUsd(threshold);
}
