import type { AlertRule } from "../../alerts/mod.ts";
import {
  isOfCalls,
  PLAN_THRESHOLD,
  type RuleThreshold,
  UNEXPLAINED_THRESHOLD,
} from "../../contract/values.ts";
import { periodOf } from "../../contract/windows.ts";
import type { SubjectFields } from "../../contract/budgets/subjects.ts";
import { parseTotalUsd } from "../../kernel/money.ts";
import { describeCounted } from "./describe_budget.ts";
import { formatThreshold } from "./format_spent.ts";

/** The fields of a rule that define what it measures. */
type Watching =
  & Pick<AlertRule, "threshold_type" | "each">
  & Partial<Pick<AlertRule, "time_zone" | "month_start_day">>
  & SubjectFields;

const windowOf = (type: RuleThreshold) =>
  type === PLAN_THRESHOLD ? "window" : isOfCalls(type) ? periodOf(type) : "month";

/** Describes what a rule measures: `day of all agents`, `run of researcher`, `window of the plan codex`. */
export function describeWatch(rule: Watching): string {
  if (rule.threshold_type === PLAN_THRESHOLD) {
    return rule.agent_id == null ? "window of any plan" : `window of the plan ${rule.agent_id}`;
  }
  if (rule.threshold_type === UNEXPLAINED_THRESHOLD) return "month of any bill";
  // A rule per run or session measures the one of the call, a budget each.
  return describeCounted({ ...rule, per: periodOf(rule.threshold_type) }).replace(/^each /, "");
}

/** Describes a rule: `warning at $10 in a day of all agents, again after 1h`. */
export function describeRule(
  rule:
    & Watching
    & Pick<
      AlertRule,
      "threshold_usd" | "threshold_pct" | "severity" | "repeat" | "cooldown_seconds" | "enabled"
    >,
): string {
  const when = `${rule.severity} at ${describeThreshold(rule)}`;
  return `${when}, ${describeCooldown(rule)}${rule.enabled ? "" : "; it is disabled"}`;
}

/** Describes the threshold of a rule and what it measures: `$10 in a day of all agents`. */
export function describeThreshold(
  rule: Watching & Pick<AlertRule, "threshold_usd" | "threshold_pct">,
): string {
  const article = rule.threshold_type === "per_hour_usd" ? "an" : "a";
  const threshold = rule.threshold_usd === null
    ? `${rule.threshold_pct}%`
    : formatThreshold(parseTotalUsd(rule.threshold_usd));
  const unexplained = rule.threshold_type === UNEXPLAINED_THRESHOLD ? " unexplained" : "";
  return `${threshold}${unexplained} in ${article} ${describeWatch(rule)}`;
}

function describeCooldown(rule: Pick<AlertRule, "threshold_type" | "repeat" | "cooldown_seconds">): string {
  const { repeat, cooldown_seconds: cooldown } = rule;
  const once = repeat === "once_per_window" ? `once per ${windowOf(rule.threshold_type)}` : "";
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
  return rule.repeat === "cooldown" ? cooldown : `${cooldown}, once per ${windowOf(rule.threshold_type)}`;
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
