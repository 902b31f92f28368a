import type { Budget } from "../../../contract/budgets/budgets.ts";
import type { CostTotal } from "../../../contract/costs.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import { startOf } from "../../../contract/windows.ts";
import { toIso } from "../../../kernel/clock.ts";
import { parseTotalUsd, shortUsd, toUsd } from "../../../kernel/money.ts";
import { readStatusLineWindows } from "../../../plans/sources/mod.ts";
import { escapeText, shorten } from "../../../kernel/text.ts";

/** Spending in wire form. */
export type Amount = Pick<CostTotal, "cost_usd" | "plan_usd" | "unpriced_calls">;

/** The figures of a status line. */
export interface Figures {
  /** Null without a session. */
  session: Amount | null;
  today: Amount;
  budget: { name: string; left_usd: number } | null;
}

/** The agent of sessions without calls. */
export const AGENT = "claude-code";

/** Reads the figures by the API; `get` returns the body of an answer. */
export async function fetchFigures(
  get: (path: string) => Promise<unknown>,
  { sessionId, now }: { sessionId: string | null; now: number },
): Promise<Figures> {
  const session = new URLSearchParams({ group_by: "agent", split_by: "key", session_id: sessionId ?? "" });
  const [rows, today, budgets] = await Promise.all([
    sessionId === null ? null : get(`/costs?${session}`),
    get(`/costs/total?from=${toIso(startOf("day", now))}`),
    get(`/budgets?limit=${PAGE_SIZES.budgets.max}`),
  ]) as [SessionRow[] | null, Amount, Budget[]];
  return {
    session: rows && sumOf(rows),
    today,
    budget: findTightest(budgets, { sessionId, rows: rows ?? [] }),
  };
}

type SessionRow = Amount & { agent_id: string; key_id: string | null };

function sumOf(rows: readonly SessionRow[]): Amount {
  const sum = (amounts: (number | null | undefined)[]) =>
    toUsd(amounts.reduce((sum: bigint, amount) => sum + parseTotalUsd(amount ?? 0), 0n));
  const isUnknown = rows.length > 0 && rows.every(({ cost_usd }) => cost_usd === null);
  return {
    cost_usd: isUnknown ? null : sum(rows.map(({ cost_usd }) => cost_usd)),
    plan_usd: sum(rows.map(({ plan_usd }) => plan_usd)),
    unpriced_calls: rows.reduce((sum, { unpriced_calls }) => sum + unpriced_calls, 0),
  };
}

/** Finds the budget with the least left among those that count the session's calls. */
function findTightest(
  budgets: readonly Budget[],
  { sessionId, rows }: { sessionId: string | null; rows: readonly SessionRow[] },
): Figures["budget"] {
  const agents = rows.length === 0 ? [AGENT] : rows.map(({ agent_id }) => agent_id);
  const keys = rows.map(({ key_id }) => key_id);
  const isOurs = (kind: string, id: string) =>
    kind === "session" ? id === sessionId : kind === "agent" ? agents.includes(id) : keys.includes(id);
  const counts = ({ enabled, action, agent_id, session_id, key_id, counter }: Budget) =>
    enabled && action !== "watch" &&
    (agent_id == null || isOurs("agent", agent_id)) &&
    (session_id == null || isOurs("session", session_id)) &&
    (key_id == null || isOurs("key", key_id)) &&
    // Of a budget with many counters, the answer has the amounts of one.
    (counter === undefined || (counter !== null && isOurs(counter.kind, counter.id)));
  const [first] = budgets.filter((budget) => counts(budget) && budget.left_usd !== undefined)
    .sort((a, b) => a.left_usd! - b.left_usd!);
  return first ? { name: first.name, left_usd: first.left_usd! } : null;
}

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
