import { PAGE_SIZES } from "../../../contract/limits.ts";
import type { PlanWindow } from "../../../contract/imports/plan_windows.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../kernel/clock.ts";
import { parseTotalUsd } from "../../../kernel/money.ts";
import type { CommandContext } from "../../command.ts";
import { formatAmounts } from "../../render/format_cost.ts";
import { countOf, formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { type Column, renderTable } from "../../render/render_table.ts";
import type { Paint, Style } from "../../terminal/style.ts";

/** Prints the windows of plans. */
export async function showPlans(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.costs.max });
  const { api } = await ctx.connect();
  const answer = await api.plans.$get({ query: { limit: limit === undefined ? undefined : String(limit) } });
  await printAnswer(
    ctx,
    answer,
    (rows) =>
      rows.length === 0
        ? "No plan has been measured yet. Codex: purser import codex; Claude Code: purser statusline, or the gateway"
        : renderPlans(ctx, rows),
  );
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more windows; --limit shows up to 1000");
}

/** Renders windows as a table. Columns without a value are left out. */
export function renderPlans(
  { layout, clock }: Pick<CommandContext, "layout" | "clock">,
  rows: readonly PlanWindow[],
): string {
  const now = clock.now();
  const known = (
    title: string,
    of: (row: PlanWindow) => string | null,
    more: Partial<Column<PlanWindow>> = {},
  ) =>
    rows.every((row) => of(row) === null)
      ? []
      : [{ title, cell: (row: PlanWindow) => of(row) ?? "-", ...more }];
  const money = (title: string, of: (row: PlanWindow) => number | null, drop: number) => {
    const amounts = formatAmounts(rows.map((row) => parseTotalUsd(of(row) ?? 0)));
    return known(title, (row) => of(row) === null ? null : amounts[rows.indexOf(row)]!, {
      align: "right",
      drop,
    });
  };
  const minute = (time: string | null) => time && formatTime(time).slice(0, 16);
  const right = { align: "right" } as const;
  return renderTable(rows, [
    { title: "PLAN", cell: ({ agent_id, plan }) => plan === null ? agent_id : `${agent_id} ${plan}` },
    ...known("MACHINE", ({ machines }) => machines.join(", ") || null, { cutTo: 8, drop: 3 }),
    ...known("PROVIDER", ({ provider }) => provider, { drop: 3 }),
    {
      title: "WINDOW",
      cell: ({ window, models }) => models === null ? window : `${window} (${models})`,
      cutTo: 10,
    },
    { title: "USED", ...right, cell: usedOf, paint: paintOf },
    ...known("GONE", ({ elapsed_pct }) => elapsed_pct === null ? null : `${Math.round(elapsed_pct)}%`, {
      ...right,
      drop: 5,
    }),
    ...known("PACE", ({ pace }) => pace === null ? null : pace.toFixed(2), right),
    ...known("RUNS OUT (UTC)", ({ runs_out_at }) => minute(runs_out_at), { drop: 1 }),
    ...known("RESETS (UTC)", ({ resets_at }) => minute(resets_at)),
    { title: "MEASURED", cell: ({ measured_at }) => describeAge(now - Date.parse(measured_at)), drop: 2 },
    ...money("API VALUE", ({ plan_usd }) => plan_usd, 4),
    ...money("PRICE/MONTH", ({ price_usd_per_month }) => price_usd_per_month, 6),
    { title: "STATE", cell: describeState, paint: paintOf },
  ], layout);
}

/** The figure of a window that has reset since is no present use. */
const usedOf = ({ used_pct, state }: PlanWindow) =>
  used_pct === null ? "-" : state === "reset" ? `was ${used_pct}%` : `${used_pct}%`;

function paintOf({ state, used_pct, pace }: PlanWindow, style: Style): Paint | undefined {
  if (state === "ended") return style.red;
  if (state !== "open") return style.dim;
  return (used_pct ?? 0) >= 90 || (pace ?? 0) > 1 ? style.yellow : undefined;
}

function describeState({ state, status, credits }: PlanWindow): string {
  const words: string[] = [];
  if (credits?.in_use) words.push("in use");
  if (credits?.unlimited) words.push("unlimited");
  else if (credits?.balance !== undefined) words.push(`balance ${credits.balance}`);
  else if (credits?.has_credits !== undefined) words.push(credits.has_credits ? "available" : "none");
  if (credits?.reason !== undefined) words.push(credits.reason);
  if (status !== null && status !== "allowed") words.unshift(status);
  if (credits === null || words.length === 0) words.unshift(state);
  return [...new Set(words)].join(", ");
}

/** Describes the age of a measurement: `3 minutes ago`. */
function describeAge(ageMs: number): string {
  if (ageMs < MINUTE_MS) return "just now";
  const [unitMs, unit] = ageMs < HOUR_MS
    ? [MINUTE_MS, "minute"] as const
    : ageMs < 2 * DAY_MS
    ? [HOUR_MS, "hour"] as const
    : [DAY_MS, "day"] as const;
  return `${countOf(Math.floor(ageMs / unitMs), unit)} ago`;
}
