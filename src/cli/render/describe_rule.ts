import type { AlertRule } from "../../alerts/mod.ts";
import { formatUsd, type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import type { Paint, Style } from "../terminal/style.ts";

/** The fields of a rule that define what it measures. */
type Watching = Pick<AlertRule, "threshold_type" | "agent_id">;

/** Returns the window of a rule: `day`. */
export function windowOf({ threshold_type }: Pick<AlertRule, "threshold_type">): string {
  return threshold_type.replace(/^per_(.*)_usd$/, "$1");
}

/** Describes what a rule measures: `day of all agents`, `run of researcher`. */
export function describeWatch(rule: Watching): string {
  return `${windowOf(rule)} of ${rule.agent_id ?? "all agents"}`;
}

/** Describes a rule: `warning at $10 in a day of all agents, again after 1h`. */
export function describeRule(
  rule: Watching & Pick<AlertRule, "threshold_usd" | "severity" | "repeat" | "cooldown_seconds" | "enabled">,
): string {
  const article = rule.threshold_type === "per_hour_usd" ? "an" : "a";
  const when = `${rule.severity} at ${formatThreshold(parseTotalUsd(rule.threshold_usd))} in ${article} ${
    describeWatch(rule)
  }`;
  return `${when}, ${describeCooldown(rule)}${rule.enabled ? "" : "; it is disabled"}`;
}

function describeCooldown(rule: Pick<AlertRule, "threshold_type" | "repeat" | "cooldown_seconds">): string {
  const { repeat, cooldown_seconds: cooldown } = rule;
  const once = repeat === "once_per_window" ? `once per ${windowOf(rule)}` : "";
  if (cooldown === 0) return once || "at every call";
  return once
    ? `${once}, at most every ${formatSeconds(cooldown)}`
    : `again after ${formatSeconds(cooldown)}`;
}

/** Formats a rule's cooldown for a table: `1h`, `1h, once per day`. */
export function formatCooldown(
  rule: Pick<AlertRule, "threshold_type" | "repeat" | "cooldown_seconds">,
): string {
  const cooldown = rule.cooldown_seconds === 0 ? "none" : formatSeconds(rule.cooldown_seconds);
  return rule.repeat === "cooldown" ? cooldown : `${cooldown}, once per ${windowOf(rule)}`;
}

const UNITS = [["d", 86_400], ["h", 3_600], ["m", 60], ["s", 1]] as const;

/** Formats a duration exactly: 90 is `1m 30s`. */
function formatSeconds(seconds: number): string {
  const parts: string[] = [];
  let rest = seconds;
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length);
    rest %= length;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join(" ");
}

const CENT = 10_000_000n;

/**
 * Formats spending beside the threshold: `$3.20 of $10`. It is rounded down, to at least the threshold's decimals, so
 * that it never looks reached before it is. Null is no spending.
 */
export function formatSpent(valueUsd: number | null, thresholdUsd: number): string {
  const threshold = parseTotalUsd(thresholdUsd);
  const spent = valueUsd === null ? "-" : roundDown(parseTotalUsd(valueUsd), threshold);
  return `${spent} of ${formatThreshold(threshold)}`;
}

/** Formats a threshold exactly: `$10`, `$0.50`, `$0.0001506`. */
function formatThreshold(threshold: NanoUsd): string {
  const [whole = "0", fraction] = formatUsd(threshold).split(".");
  return `$${groupDigits(whole)}${fraction === undefined ? "" : `.${fraction.padEnd(2, "0")}`}`;
}

function roundDown(value: NanoUsd, threshold: NanoUsd): string {
  if (value <= 0n) return "$0";
  // Below a cent, three significant digits.
  const small = value < CENT ? 12 - String(value).length : 2;
  const decimals = Math.min(9, Math.max(2, decimalsOf(threshold), small));
  const unit = 10n ** BigInt(9 - decimals);
  const [whole = "0", fraction = ""] = formatUsd(value / unit * unit).split(".");
  return `$${groupDigits(whole)}.${fraction.padEnd(2, "0")}`;
}

function groupDigits(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ",");
}

function decimalsOf(value: NanoUsd): number {
  return formatUsd(value).split(".")[1]?.length ?? 0;
}

/** Red when the threshold is reached, yellow from 80% of it. */
export function paintSpent(
  { value_usd: value, threshold_usd: threshold }: { value_usd: number | null; threshold_usd: number },
  style: Style,
): Paint | undefined {
  if (value === null || value < threshold * 0.8) return undefined;
  return value >= threshold ? style.red : style.yellow;
}

/** The colour of a severity. */
export function paintSeverity({ severity }: Pick<AlertRule, "severity">, style: Style): Paint | undefined {
  return { critical: style.red, warning: style.yellow, info: style.cyan }[severity];
}
