import { shortUsd } from "../../format/money.ts";
import type { AlertRule } from "../../../contract/alerts/alert_rules.ts";
import { subjectsOf } from "../../../contract/budgets/subjects.ts";
import { isOfCalls, type ThresholdType } from "../../../contract/values.ts";
import { periodOf, windowOf } from "../../../contract/windows.ts";
import { toIso } from "../../../kernel/clock.ts";
import { costsHref, limitHref, runsHref, sessionHref } from "../links.ts";
import { UTC } from "../../../contract/calendars/zones.ts";
import { type Limit, shareOf } from "./limit.ts";
import { spentHrefOf, subjectsText } from "./limit_of_budget.ts";
import { windowText } from "./periods.ts";

/** A rule is near from this share on, as a budget is by default. */
const NEAR = 0.8;

/** A rule about spending; the others are about the windows of plans or bills, and no limits. */
export type SpendingRule = AlertRule & { threshold_type: ThresholdType; threshold_usd: number };

export const isOfSpending = (rule: AlertRule): rule is SpendingRule => isOfCalls(rule.threshold_type);

/** Names what a rule about plans or bills fires at. */
export const namePlainRule = ({ threshold_pct, threshold_usd }: AlertRule): string =>
  threshold_usd === null ? `Plans at ${threshold_pct}%` : `Unexplained above ${shortUsd(threshold_usd)}`;

/** Returns an alert rule as a limit. */
export function limitOfRule(rule: SpendingRule, now: number): Limit {
  const { value_usd, threshold_usd } = rule;
  const per = periodOf(rule.threshold_type);
  const calendar = { ...UTC, timeZone: rule.time_zone, monthStartDay: rule.month_start_day };
  const { resetsAt } = windowOf(per, now, null, calendar);
  const share = shareOf(value_usd ?? 0, threshold_usd);
  return {
    kind: "rule",
    id: rule.rule_id,
    name: rule.name,
    href: limitHref(rule.rule_id),
    enabled: rule.enabled,
    scope: subjectsText(rule),
    per,
    period: windowText({ ...rule, per }),
    spent: value_usd,
    spentHref: spentHrefOfRule(rule),
    reserved: 0,
    limit: threshold_usd,
    raised: 0,
    left: undefined,
    share,
    state: value_usd !== null && value_usd >= threshold_usd ? "reached" : share >= NEAR ? "near" : "ok",
    stops: false,
    resetsAt: resetsAt === null ? null : toIso(resetsAt),
    reachesAt: rule.reaches_at,
    usdPerHour: rule.usd_per_hour,
    refusedCalls: 0,
  };
}

/** Returns the page with the sum of a rule's window, or of the run or session that it is of. */
function spentHrefOfRule(rule: AlertRule): string | undefined {
  const { agent_id, counter, window_start } = rule;
  if (rule.each || subjectsOf(rule).some(([part]) => part !== "agent")) return spentHrefOf(rule);
  if (window_start !== null) return costsHref({ agent_id, from: window_start });
  return counter?.kind === "session" ? sessionHref(counter.id) : runsHref(counter?.session_id);
}
