import type { CostTotal } from "../../../contract/costs.ts";
import type { SpendingSummary } from "../../../contract/costs/spending_summary.ts";
import { parseTotalUsd, shortUsd } from "../../../kernel/money.ts";
import { readStatusLineWindows } from "../../../plans/sources/mod.ts";
import { escapeText, shorten } from "../../../kernel/text.ts";

/** Spending in wire form. */
export type Amount = Pick<CostTotal, "cost_usd" | "plan_usd" | "unpriced_calls">;

/** The figures of a status line. */
export interface Figures {
  /** Undefined without a session. */
  session?: Amount | undefined;
  today: Amount;
  budget: SpendingSummary["budget"];
}

/** The agent of sessions without calls. */
export const AGENT = "claude-code";

/** Returns the path of the figures in the API. */
export const figuresPath = (sessionId: string | null) =>
  `/costs/summary?${new URLSearchParams({
    agent_id: AGENT,
    ...(sessionId !== null && { session_id: sessionId }),
  })}`;

/** Formats spending: `$0.42`, `$4.20 plan value`, `$0.42 + 2 unpriced`. */
export function formatSpending({ cost_usd, plan_usd, unpriced_calls }: Amount): string {
  const plan = parseTotalUsd(plan_usd ?? 0);
  const parts = [
    ...cost_usd === null || (cost_usd === 0 && plan > 0n) ? [] : [shortUsd(parseTotalUsd(cost_usd))],
    ...plan > 0n ? [`${shortUsd(plan)} plan value`] : [],
    ...unpriced_calls > 0 ? [`${unpriced_calls} unpriced`] : [],
  ];
  return parts.join(" + ") || "$0";
}

/** The most characters of a name from outside. */
const MAX_NAME = 30;
export const shortName = (name: string) => escapeText(shorten(name, MAX_NAME));

/** Formats what is left: `$1.90 left of Day`, `Day reached`. */
export function formatBudget(budget: Figures["budget"]): string {
  if (budget === null) return "";
  const { name, left_usd } = budget;
  return left_usd === 0
    ? `${shortName(name)} reached`
    : `${shortUsd(parseTotalUsd(left_usd))} left of ${shortName(name)}`;
}

/** Formats the age of figures: `12 s ago`. */
export function formatAge(ageMs: number): string {
  const seconds = Math.max(0, Math.round(ageMs / 1_000));
  if (seconds < 90) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min ago` : `${Math.round(minutes / 60)} h ago`;
}

/** Formats the windows of a plan, each with the share that is used and its pace: `5h 42% (pace 1.3), 7d 12% (pace 0.4)`. */
export function formatWindows(limits: unknown, now: number): string {
  return readStatusLineWindows({ rate_limits: limits }).flatMap(
    ({ window, usedPercent, resetsAt, lengthMs }) => {
      if (usedPercent === undefined || (resetsAt !== undefined && resetsAt <= now)) return [];
      const gone = resetsAt === undefined || lengthMs === undefined ? 0 : 1 - (resetsAt - now) / lengthMs;
      const pace = gone > 0 ? ` (pace ${(usedPercent / 100 / gone).toFixed(1)})` : "";
      const name = window.replace("five_hour", "5h").replace("seven_day", "7d").replaceAll("_", " ");
      return [`${shortName(name)} ${Math.round(usedPercent)}%${pace}`];
    },
  ).join(", ");
}
