import type { AlertRule } from "../../../contract/alerts/alert_rules.ts";
import type { Alert } from "../../../contract/alerts/alerts.ts";
import type { BudgetDefinition } from "../../../contract/budgets/budgets.ts";
import type { BudgetState } from "../../../contract/budgets/budget_state.ts";
import type { BudgetPeriod, RefusalReason } from "../../../contract/values.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../kernel/clock.ts";
import { costsHref, limitHref, sessionHref } from "../links.ts";

/** A budget or an alert rule, as both are shown side by side: something that spending comes closer to. */
export interface Limit {
  kind: "budget" | "rule";
  id: string;
  name: string;
  href: string;
  enabled: boolean;
  /** The calls that count: "all agents", "agent researcher, each session". */
  scope: string;
  per: BudgetPeriod;
  /** Null before the first call of a rule's window. */
  spent: number | null;
  /** The page with the calls of `spent`. */
  spentHref: string;
  reserved: number;
  /** The amount that was set, without raises. */
  limit: number;
  raised: number;
  /** Of a budget; a rule refuses nothing, so that nothing is left of it. */
  left: number | undefined;
  /** The used part of the limit, 1 where it is reached. For order and pictures, not for amounts. */
  share: number;
  state: "ok" | "near" | "reached";
  /** True if it refuses calls. */
  stops: boolean;
  resetsAt: string | null;
  reachesAt: string | null;
  usdPerHour: number | null;
  refusedCalls: number;
}

type Budget = BudgetDefinition & BudgetState;

export function limitOfBudget(budget: Budget): Limit {
  const { spent_usd, reserved_usd, limit_usd, extra_usd } = budget;
  return {
    kind: "budget",
    id: budget.budget_id,
    name: budget.name,
    href: limitHref(budget.budget_id),
    enabled: budget.enabled,
    scope: scopeOfBudget(budget),
    per: budget.per,
    spent: spent_usd,
    spentHref: spentHrefOf(budget),
    reserved: reserved_usd,
    limit: limit_usd,
    raised: extra_usd,
    left: budget.left_usd,
    share: shareOf(spent_usd + reserved_usd, limit_usd + extra_usd),
    state: budget.state,
    stops: budget.action === "refuse",
    resetsAt: budget.resets_at,
    reachesAt: budget.reaches_at,
    usdPerHour: budget.usd_per_hour,
    refusedCalls: budget.refused_calls,
  };
}

/** A rule is near from this share on, as a budget is by default. */
const NEAR = 0.8;

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
    spentHref: costsHref({ agent_id: rule.agent_id ?? undefined, from: startOfWindow(per, now) }),
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

function shareOf(used: number, limit: number): number {
  return limit > 0 ? used / limit : 1;
}

function scopeOfBudget({ agent_id, session_id, key_id, each }: BudgetDefinition): string {
  const named = agent_id !== null
    ? `agent ${agent_id}`
    : session_id !== null
    ? `session ${session_id}`
    : key_id !== null
    ? `key ${key_id}`
    : "all agents";
  return each === null ? named : named === "all agents" ? `each ${each}` : `${named}, each ${each}`;
}

/** Returns the page with the calls that a budget counts; of one with many counters, those of the counter that is shown. */
function spentHrefOf({ agent_id, session_id, key_id, counter, window_start }: Budget): string {
  const { kind, id } = counter ?? {};
  const session = session_id ?? (kind === "session" ? id : undefined);
  if (session !== undefined) return sessionHref(session);
  return costsHref({
    agent_id: agent_id ?? (kind === "agent" ? id : undefined),
    key_id: key_id ?? (kind === "key" ? id : undefined),
    from: window_start ?? undefined,
  });
}

/** Returns the period of a threshold type: `day` of `per_day_usd` and of `budget_per_day_usd`. */
export function periodOf(type: Alert["threshold_type"]): BudgetPeriod {
  return /per_(\w+)_usd$/.exec(type)![1] as BudgetPeriod;
}

/** Returns the start of a rule's window; undefined for runs and sessions. */
function startOfWindow(per: BudgetPeriod, now: number): string | undefined {
  const date = new Date(now);
  if (per === "hour") return new Date(now - now % MINUTE_MS - HOUR_MS).toISOString();
  if (per === "day") return date.toISOString().slice(0, 10);
  return per === "month" ? `${date.toISOString().slice(0, 8)}01` : undefined;
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

/** The periods in words. */
export const PERIODS: Readonly<Record<BudgetPeriod, string>> = {
  run: "each run",
  session: "each session",
  hour: "last 60 minutes",
  day: "UTC day",
  week: "week (UTC)",
  month: "UTC month",
  lifetime: "all time",
};

/** The reasons of refusals in words. */
export const REASONS: Readonly<Record<RefusalReason, string>> = {
  spent: "the limit is reached",
  would_overshoot: "the call might exceed it",
  unbounded: "the call's cost has no bound",
  unpriced: "the model has no price",
  held: "the rest is held for calls in progress",
};

/** Returns the limits in the order in which they stop or warn: by time, and those without a time by share. */
export function byTime(limits: readonly Limit[]): Limit[] {
  return limits.toSorted((a, b) => {
    const [x, y] = [a.reachesAt ?? "~", b.reachesAt ?? "~"];
    return x < y ? -1 : x > y ? 1 : b.share - a.share;
  });
}

export function byShare(limits: readonly Limit[]): Limit[] {
  return limits.toSorted((a, b) => b.share - a.share);
}
