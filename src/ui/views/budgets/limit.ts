import type { BudgetPeriod } from "../../../contract/values.ts";

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
  /** The window in words. */
  period: string;
  /** Null before the first call of a rule's window. */
  spent: number | null;
  /** The page with the same sum as `spent`; undefined where there is none: for a part of a session, or a run with those below it. */
  spentHref: string | undefined;
  reserved: number;
  /** Of a budget: the calls without a price, which are in no amount. */
  unpriced?: number | undefined;
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

/** Returns the used part of a limit. */
export function shareOf(used: number, limit: number): number {
  return limit > 0 ? used / limit : 1;
}

/** Returns the limits in the order in which they stop or warn: by time, and those without a time by share. */
export function byTime(limits: readonly Limit[]): Limit[] {
  return limits.toSorted((a, b) => {
    const [x, y] = [a.reachesAt ?? "~", b.reachesAt ?? "~"];
    return x < y ? -1 : x > y ? 1 : b.share - a.share;
  });
}

/** Returns the limits by share, the highest first. */
export function byShare(limits: readonly Limit[]): Limit[] {
  return limits.toSorted((a, b) => b.share - a.share);
}
