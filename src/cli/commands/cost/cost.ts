import { PAGE_SIZES } from "../../../contract/limits.ts";
import { type Grouping, GROUPINGS } from "../../../contract/values.ts";
import type { Connection } from "../../../client/mod.ts";
import { DAY_MS, HOUR_MS, toIso } from "../../../kernel/clock.ts";
import { type Command, type CommandContext, option } from "../../command.ts";
import {
  type CostLayout,
  costOf,
  type CostRow,
  nameOf,
  partlyPricedWarning,
  readAllCosts,
  readNewestAnomalies,
  renderAnomalies,
  renderCosts,
  renderPeriods,
  type Spend,
  sumRows,
  unpricedWarning,
} from "../../render/render_costs.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { parseSince } from "../../parse/parse_time.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { textWidth } from "../../terminal/text_width.ts";
import type { WhatIf } from "../../../contract/costs.ts";
import { type NanoUsd, parseTotalUsd } from "../../../kernel/money.ts";
import { formatAmounts } from "../../render/format_cost.ts";
import { formatCount } from "../../render/format_values.ts";
import { renderTable } from "../../render/render_table.ts";

/** `purser cost`: an overview, or with `--by` one table */
export const cost: Command = {
  name: "cost",
  args: [],
  summary: "Show recent spending across all agents",
  detail:
    "Days are UTC days. WHEN is a duration back from now (30m, 24h, 7d, 2w), a date, an ISO time, or all. The default is " +
    "the last 30 days; with --by hour, the last 24 hours. purser cost explain shows one call.",
  options: {
    by: option("GROUP", "Group by", { oneOf: GROUPINGS }),
    since: option("WHEN", "Only calls since WHEN", { some: ["24h", "7d", "30d", "all"] }),
    from: option("WHEN", "The same as --since"),
    to: option("WHEN", "Only calls before WHEN"),
    "what-if": option("MODEL", "What the same usage would cost on another model, such as openai:gpt-5-mini"),
    limit: option("N", "Maximum number of rows, 1 to 1000 (default 100)"),
  },
  examples: [
    ["purser cost", "Today, this week, this month; by agent and by model"],
    ["purser cost --by model --since 24h", "By model, the last 24 hours"],
    ["purser cost --by day --since 2026-11-01 --json", "For another program"],
    ["purser cost --what-if openai:gpt-5-mini --by agent", "On another model"],
  ],
  isReadOnly: true,
  run: showCosts,
};

async function showCosts(ctx: CommandContext): Promise<void> {
  const groupBy = ctx.options.oneOf("by", GROUPINGS);
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.costs.max }) ?? 100;
  const span = readSpan(ctx, groupBy);
  const to = readEnd(ctx);
  const model = ctx.options.text("what-if");
  if (model !== undefined) {
    return await printWhatIf(ctx, { model, from: span.from, to, limit: String(limit) });
  }
  const { api } = await ctx.connect();
  if (groupBy === undefined && to === undefined && !ctx.isJson) {
    return await printOverview(ctx, api, span, limit);
  }

  const query = { group_by: groupBy ?? "agent", from: span.from, to, limit: String(limit) };
  const answer = await api.costs.$get({ query });
  let total: Spend | undefined;
  await printAnswer(ctx, answer, (rows) => {
    total = sumRows(rows);
    return rows.length === 0 ? `No calls ${span.name}` : renderCosts(rows, query.group_by, layoutOf(ctx));
  });
  if (ctx.isJson) return;
  if (total) warnOfUnpriced(ctx, total);
  if (hasMore(answer)) ctx.say("There are more rows; --limit shows up to 1000");
}

/** The time range whose calls count, and its name in titles. */
interface Span {
  from: string | undefined;
  name: string;
}

/** Returns the time of `--to`. */
function readEnd({ options, clock }: CommandContext): string | undefined {
  return options.read("to", (text) => parseSince(text, clock.now()));
}

function readSpan({ options, clock }: CommandContext, groupBy: Grouping | undefined): Span {
  const now = clock.now();
  if (options.has("since") && options.has("from")) {
    throw new UsageError("Cannot use --since together with --from: give one of them", options.command);
  }
  const start = options.has("since") ? "since" : "from";
  if (options.has(start)) {
    const from = options.read(start, (text) => parseSince(text, now));
    return {
      from,
      name: from === undefined ? "of all time" : `since ${from.slice(0, 16).replace("T", " ")} UTC`,
    };
  }
  if (groupBy === "hour") {
    return { from: toIso(startOf(now, HOUR_MS) - 23 * HOUR_MS), name: "of the last 24 hours" };
  }
  return { from: toIso(startOf(now, DAY_MS) - 29 * DAY_MS), name: "of the last 30 days" };
}

async function printOverview(
  ctx: CommandContext,
  api: Connection["api"],
  span: Span,
  limit: number,
): Promise<void> {
  const today = startOf(ctx.clock.now(), DAY_MS);
  const weekStart = today - 6 * DAY_MS;
  const monthStart = Date.parse(toIso(today).slice(0, 7) + "-01");
  const from = toIso(Math.min(weekStart, monthStart));
  const [days, week, everything, agents, models, anomalies] = await Promise.all([
    readAllCosts(api, { group_by: "day", from }),
    readAllCosts(api, { group_by: "model", from: toIso(ctx.clock.now() - 7 * DAY_MS) }), // as --since 7d
    readAllCosts(api, { group_by: "model" }),
    readAllCosts(api, { group_by: "agent", from: span.from }),
    readAllCosts(api, { group_by: "model", from: span.from }),
    readNewestAnomalies(api, span.from),
  ]);
  const total = sumRows(everything);
  if (total.modelCalls === 0) return ctx.print("No model call has been booked yet");

  const since = (start: number): Spend => sumRows(days.filter((row) => Date.parse(row.day!) >= start));
  const names = [...agents.map((row) => nameOf(row, "agent")), ...models.map((row) => nameOf(row, "model"))];
  const layout = {
    ...layoutOf(ctx),
    nameWidth: Math.min(30, Math.max(14, ...names.map((name) => textWidth(escapeText(name))))),
  };
  const section = (title: string, table: string) => `${ctx.style.bold(title)}\n${table}`;
  const parts = [renderPeriods([
    { name: "Today", spend: since(today) },
    { name: "Last 7 days", spend: sumRows(week) },
    { name: "This month", spend: since(monthStart) },
    { name: "All time", spend: total },
  ], layout)];
  const chart = fillDays(days, weekStart);
  // A chart with one bar would repeat the table above it.
  if (chart.filter((row) => row.model_calls > 0).length > 1) {
    parts.push(section("By day (UTC)", renderCosts(chart, "day", layout)));
  }
  for (const [groupBy, rows] of [["agent", agents], ["model", models]] as const) {
    if (rows.length === 0) continue;
    const left = rows.length - limit;
    const more = left > 0
      ? "\n" + ctx.style.dim(`and ${left} more: purser cost --by ${groupBy} --limit 1000`)
      : "";
    const title = `By ${groupBy}, ${span.name.replace(/^of /, "")}`;
    parts.push(section(title, renderCosts(rows.slice(0, limit), groupBy, layout) + more));
  }
  if (agents.length === 0) parts.push(`No calls ${span.name}`);
  if (anomalies.length > 0) {
    const title = `Anomalies, ${span.name.replace(/^of /, "")}`;
    parts.push(section(title, renderAnomalies(anomalies, layout)));
  }
  ctx.print(parts.join("\n\n"));
  warnOfUnpriced(ctx, total);
}

/** Returns seven days from `start`, including days without a call. */
function fillDays(rows: readonly CostRow[], start: number): CostRow[] {
  return Array.from({ length: 7 }, (_, index) => {
    const day = toIso(start + index * DAY_MS).slice(0, 10);
    return rows.find((row) => row.day === day) ??
      { day, model_calls: 0, unpriced_calls: 0, partly_priced_calls: 0, total_tokens: 0, cost_usd: 0 };
  });
}

function startOf(time: number, lengthMs: number): number {
  return time - time % lengthMs;
}

function layoutOf({ terminal, style }: CommandContext): CostLayout {
  return { columns: terminal.stdout.columns, style, hasUnicode: terminal.hasUnicode };
}

function warnOfUnpriced({ warn }: CommandContext, { unpricedCalls, partlyPricedCalls }: Spend): void {
  if (unpricedCalls > 0) warn(unpricedWarning(unpricedCalls));
  if (partlyPricedCalls > 0) warn(partlyPricedWarning(partlyPricedCalls));
}

/** `purser cost --what-if MODEL`: the cost of the same usage on another model */
export async function printWhatIf(
  ctx: CommandContext,
  query: { model: string; from: string | undefined; to: string | undefined; limit: string },
): Promise<void> {
  const groupBy: Grouping = ctx.options.oneOf("by", GROUPINGS) ?? "model";
  const { api } = await ctx.connect();
  const answer = await api.costs["what-if"].$get({ query: { ...query, group_by: groupBy } });
  let notes: readonly string[] = [];
  await printAnswer(ctx, answer, (body) => {
    notes = body.notes;
    const { style, terminal: { stdout: { columns }, hasUnicode } } = ctx;
    return body.rows.length === 0 ? "No calls" : renderWhatIf(body, groupBy, { style, columns, hasUnicode });
  });
  for (const note of notes) ctx.say(note);
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more rows; --limit shows up to 1000");
}

interface Line {
  name: string;
  calls: number;
  actual: NanoUsd | null;
  other: NanoUsd | null;
}

/** Renders the cost of groups beside that of the same usage on another model. */
export function renderWhatIf({ rows, model }: WhatIf, groupBy: Grouping, layout: CostLayout): string {
  const lines = rows.map((row): Line => ({
    name: nameOf(row, groupBy),
    calls: row.model_calls,
    actual: row.cost_usd === null ? null : costOf(row),
    other: row.what_if_cost_usd === null ? null : parseTotalUsd(row.what_if_cost_usd),
  }));
  const all = lines.length === 1 ? lines : [...lines, totalOf(lines)];
  const amounts = formatAmounts(all.flatMap(({ actual, other }) => [actual ?? 0n, other ?? 0n]));
  const cell = (line: Line, which: "actual" | "other") =>
    line[which] === null ? "no price" : amounts[all.indexOf(line) * 2 + Number(which === "other")]!;
  return renderTable(all, [
    { title: groupBy.toUpperCase(), cell: ({ name }) => name, cutTo: 12 },
    { title: "CALLS", align: "right", cell: ({ calls }) => formatCount(calls), drop: 1 },
    { title: "COST", align: "right", cell: (line) => cell(line, "actual") },
    { title: `ON ${model}`, align: "right", cell: (line) => cell(line, "other") },
    { title: "CHANGE", align: "right", cell: changeOf, drop: 2 },
  ], layout);
}

function totalOf(lines: readonly Line[]): Line {
  const sum = (which: "actual" | "other") => {
    const known = lines.flatMap((line) => line[which] ?? []);
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0n);
  };
  const calls = lines.reduce((total, line) => total + line.calls, 0);
  return { name: "All", calls, actual: sum("actual"), other: sum("other") };
}

function changeOf({ actual, other }: Line): string {
  if (actual === null || other === null || actual === 0n) return "";
  const percent = Number((other - actual) * 1000n / actual) / 10;
  return `${percent > 0 ? "+" : ""}${Math.round(percent)}%`;
}
