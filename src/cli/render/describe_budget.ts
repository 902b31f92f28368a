import { describeScope } from "../../contract/budgets/subjects.ts";
import type { Budget } from "../../contract/budgets/budgets.ts";
import type { BudgetCheck } from "../../contract/budgets/budget_checks.ts";
import { type SubjectFields, subjectTexts } from "../../contract/budgets/subjects.ts";
import { formatCount } from "../../kernel/counts.ts";
import { parseTotalUsd, toUsd } from "../../kernel/money.ts";
import { UTC } from "../../contract/calendars/zones.ts";
import type { Paint, Style } from "../terminal/style.ts";
import { formatAmounts } from "./format_cost.ts";
import { formatSpent, formatThreshold } from "./format_spent.ts";
import { formatMinute, formatTime } from "./format_values.ts";
import type { Column } from "./render_table.ts";

/** The window of a budget. */
type Windowed = Pick<Budget, "per"> & Partial<Pick<Budget, "time_zone" | "week_start" | "month_start_day">>;

/** The fields of a budget that define what it counts. */
type Counting = Windowed & Pick<Budget, "each"> & SubjectFields;

/** Describes the window of a budget: `day`, `week from sunday in Europe/Berlin`, `month from day 15`. */
export function describeWindow(
  { per, time_zone = UTC.timeZone, week_start = UTC.weekStart, month_start_day = UTC.monthStartDay }:
    Windowed,
): string {
  return [
    per === "30d" ? "30 days" : per,
    ...week_start === UTC.weekStart ? [] : [`from ${week_start}`],
    ...month_start_day === UTC.monthStartDay ? [] : [`from day ${month_start_day}`],
    ...time_zone === UTC.timeZone ? [] : [`in ${time_zone}`],
  ].join(" ");
}

/** The end of the window of a budget. */
type Ending = Pick<Budget, "time_zone" | "resets_at">;

/** Formats the end of a window in its time zone: `2026-11-28 00:00 UTC`, `2026-11-28 00:00+01:00 (Europe/Berlin)`. */
export function formatReset({ resets_at, time_zone }: Ending): string {
  return resets_at === null ? "-" : formatMinute(resets_at, time_zone);
}

/** Returns the column of the ends of windows. */
export function resetsColumn<Row extends Ending>(rows: readonly Row[], drop: number): Column<Row> {
  const isUtc = rows.every(({ time_zone }) => time_zone === UTC.timeZone);
  return {
    title: isUtc ? "RESETS (UTC)" : "RESETS",
    cell: (row) => isUtc ? formatTime(row.resets_at).slice(0, 16) : formatReset(row),
    drop,
  };
}

/** Describes what a budget counts: `day of all agents`, `each run of researcher`, `day of each session of key laptop`. */
export function describeCounted(budget: Counting): string {
  const { per, each } = budget;
  const window = describeWindow(budget);
  const texts = subjectTexts(budget);
  const named = texts.length === 0 ? null : texts.join(", ").replace(/^agent (?=[^,]*$)/, "");
  if (per === "tree" && budget.session_id != null) return `the ${named}`;
  if (per === "run" || per === "session" || per === "tree") return `each ${per} of ${named ?? "all agents"}`;
  if (each !== null) return `${window} of each ${each}${named === null ? "" : ` of ${named}`}`;
  return `${window} of ${named ?? "all agents"}`;
}

/** Describes a budget: `$50 for a day of all agents, strict; warns at 80%, 100%`. */
export function describeBudget(budget: Omit<Budget, "name">): string {
  const { limit_usd, mode, action, warn_at, forecast, allow_unpriced, enabled } = budget;
  const counted = describeCounted(budget);
  const article = /^(?:each|the|30) /.test(counted) ? "" : counted.startsWith("hour") ? "an " : "a ";
  const notes = [
    `${formatAmount(limit_usd)} for ${article}${counted}`,
    mode,
    ...(action === "watch" ? ["watch only"] : action === "ask" ? ["asks for more"] : []),
    ...(allow_unpriced ? ["unpriced models allowed"] : []),
  ].join(", ");
  return `${notes}; ${describeWarnings(warn_at)}${forecast ? ", and by a forecast" : ""}${
    enabled ? "" : "; it is disabled"
  }`;
}

/** Describes the warnings of a budget: `warns at 80%, 100%`. */
export function describeWarnings(shares: readonly number[]): string {
  if (shares.length === 0) return "no warnings";
  return `warns at ${shares.map((share) => `${Number((share * 100).toFixed(2))}%`).join(", ")}`;
}

/** The amounts of a budget, which a key of one agent may not see. */
type Amounts = Pick<BudgetCheck, "limit_usd" | "extra_usd" | "spent_usd" | "unpriced_calls">;

/** Formats the spending of a budget beside its limit with the raises: `$3.20 of $70`. */
export function formatBudgetSpent({ limit_usd, extra_usd, spent_usd, unpriced_calls }: Amounts): string {
  if (spent_usd === undefined) return "hidden";
  const spent = formatSpent(spent_usd, toUsd(parseTotalUsd(limit_usd) + parseTotalUsd(extra_usd ?? 0)));
  return spent + andUnpriced(unpriced_calls);
}

/** Formats calls whose cost is not known, after an amount that they are not in: ` + 3 unpriced`. */
export function andUnpriced(calls: number | undefined): string {
  return calls ? ` + ${formatCount(calls)} unpriced` : "";
}

/** Describes the pace of spending: `at this rate ends at 2026-11-23 16:40 UTC ($1.25 an hour)`. */
export function describePace({ usd_per_hour, reaches_at }: Pick<Budget, "usd_per_hour" | "reaches_at">) {
  const rate = `${formatAmounts([parseTotalUsd(usd_per_hour ?? 0)])[0]} an hour`;
  return reaches_at ? `at this rate ends at ${formatTime(reaches_at).slice(0, 16)} UTC (${rate})` : rate;
}

/** Formats an amount exactly: `$12.50`; `hidden` where a key of one agent may not see it. */
export function formatAmount(usd: number | undefined): string {
  return usd === undefined ? "hidden" : formatThreshold(parseTotalUsd(usd));
}

/** Says that nothing has the name that a budget or a rule has; undefined for a known name. */
export function describeUnknown(
  { unknown, ...names }: Partial<Pick<Budget, "unknown" | "key_name">>,
): string | undefined {
  if (!unknown) return undefined;
  const { kind, id, nearest } = unknown;
  const state = kind === "key"
    ? `there is no API key ${id}`
    : kind === "agent" || kind === "session"
    ? `there is no call of ${kind} ${id} so far`
    : `no calls yet: nothing has been spent for ${
      kind === "calls"
        ? describeScope({ scope: id, ...names })
        : kind.startsWith("tag:")
        ? `tag ${kind.slice(4)}=${id}`
        : `${kind} ${id}`
    }`;
  return nearest === null ? state : `${state}; did you mean ${nearest}?`;
}

/** Formats the state of a budget, and that it refuses nothing. */
export function formatState(
  { state, action, enabled = true }: Pick<Budget, "state" | "action"> & { enabled?: boolean },
) {
  if (!enabled) return "disabled";
  return action === "watch" ? `${state}, watch` : state;
}

/** Red when the limit is reached, yellow when it is near. */
export function paintState({ state }: Pick<Budget, "state">, style: Style): Paint | undefined {
  return { reached: style.red, near: style.yellow, ok: undefined }[state];
}
