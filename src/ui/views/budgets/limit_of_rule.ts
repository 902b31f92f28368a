import type { AlertRule } from "../../../contract/alerts/alert_rules.ts";
import type { BudgetPeriod } from "../../../contract/values.ts";
import { DAY_MS } from "../../../kernel/clock.ts";
import { costsHref, limitHref, runsHref, sessionHref } from "../links.ts";
import { type Limit, shareOf } from "./limit.ts";
import { periodOf } from "./periods.ts";

/** A rule is near from this share on, as a budget is by default. */
const NEAR = 0.8;

/** Returns an alert rule as a limit. */
export function limitOfRule(rule: AlertRule, now: number): Limit {
  const { value_usd, threshold_usd } = rule;
  const per = periodOf(rule.threshold_type);
  const share = shareOf(value_usd ?? 0, threshold_usd);
  return {
    kind: "rule",
    id: rule.rule_id,
    name: rule.name,
    href: limitHref(rule.rule_id),
    enabled: rule.enabled,
    scope: rule.agent_id === null ? "all agents" : `agent ${rule.agent_id}`,
    per,
    spent: value_usd,
    spentHref: spentHrefOf(rule),
    reserved: 0,
    limit: threshold_usd,
    raised: 0,
    left: undefined,
    share,
    state: value_usd !== null && value_usd >= threshold_usd ? "reached" : share >= NEAR ? "near" : "ok",
    stops: false,
    resetsAt: endOfWindow(per, now),
    reachesAt: rule.reaches_at,
    usdPerHour: rule.usd_per_hour,
    refusedCalls: 0,
  };
}

/** Returns the page with the sum of a rule's window, or of the run or session that it is of. */
function spentHrefOf({ agent_id, counter, window_start }: AlertRule): string | undefined {
  if (window_start !== null) return costsHref({ agent_id, from: window_start });
  return counter?.kind === "session" ? sessionHref(counter.id) : runsHref(counter?.session_id);
}

/** Returns the end of a rule's window of UTC; null for one that rolls, and for runs and sessions. */
function endOfWindow(per: BudgetPeriod, now: number): string | null {
  const date = new Date(now);
  if (per === "day") return new Date(Math.floor(now / DAY_MS) * DAY_MS + DAY_MS).toISOString();
  if (per === "month") {
    return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)).toISOString();
  }
  return null;
}
