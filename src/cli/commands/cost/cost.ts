import { PAGE_SIZES } from "../../../contract/limits.ts";
import { COST_SORTS, GROUPINGS, SPLITS } from "../../../contract/values.ts";
import { type Calendar, dateIn } from "../../../contract/calendars/zones.ts";
import { startOf } from "../../../contract/windows.ts";
import { DAY_MS, toIso } from "../../../kernel/clock.ts";
import { type Command, type CommandContext, flag, option } from "../../command.ts";
import {
  type CostGroups,
  type CostLayout,
  costOf,
  type CostRow,
  nameOf,
  readAllCosts,
  readNewestAnomalies,
  renderAnomalies,
  renderCosts,
  renderForecast,
  renderPeriods,
  sumRows,
  titleOf,
  toSpend,
  warnOfUnpriced,
} from "../../render/render_costs.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { checkScope } from "../../parse/check_scope.ts";
import { FILTER_OPTIONS, type Filters, readFilters } from "../../parse/dimension_options.ts";
import { NAMED_TAGS, readGroup, readTags } from "../../parse/parse_tags.ts";
import { monthOf, queryOfCalendar, readReportCalendar, ZONE_OPTIONS } from "../../parse/calendar_options.ts";
import { parseSince } from "../../parse/parse_time.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { textWidth } from "../../terminal/text_width.ts";
import type { WhatIf } from "../../../contract/costs/what_if.ts";
import { type NanoUsd, parseTotalUsd } from "../../../kernel/money.ts";
import { formatCount, formatMinute } from "../../render/format_values.ts";
import { formatAmounts, formatChange } from "../../render/format_cost.ts";
import { renderTable } from "../../render/render_table.ts";

const PREVIOUS = "previous";

const SINCE = [
  ...["24h", "7d", "30d", "today", "yesterday", "monday", "week", "last-week", "month", "last-month"],
  ...["quarter", "last-quarter", "all"],
];

/** `purser cost`: an overview, or with `--by` one table */
export const cost: Command = {
  name: "cost",
  args: [],
  summary: "Show recent spending across all agents",
  detail:
    "Days, weeks and months are those of --tz: UTC, or the time_zone of the config; hours are those of UTC. WHEN is a duration " +
    "back from now (30m, 24h, 7d, 2w), the start of today, yesterday, monday, week, last-week, month, last-month, quarter or " +
    "last-quarter, a date, an ISO time, or all. The " +
    "default is the last 30 days; with --by hour, the last 24 hours. Without --by, it shows the ten most " +
    "expensive agents and models. The forecast adds an estimate for the remaining days to the spending of this " +
    "month: by the same pace, and by the median of the same weekdays of the last four weeks. purser cost explain " +
    "shows one call.",
  options: {
    by: option("GROUP", "Group by a tag, such as tag:customer, or by", {
      oneOf: [...GROUPINGS, ...NAMED_TAGS],
    }),
    split: option("GROUP", "Split each group by a tag, or by", { oneOf: [...SPLITS, ...NAMED_TAGS] }),
    sort: option("ORDER", "Order of the rows, highest cost or latest first", { oneOf: COST_SORTS }),
    since: option("WHEN", "Only calls since WHEN", { some: SINCE }),
    until: option("WHEN", "Only calls before WHEN", { some: ["today", "yesterday", "week", "month"] }),
    compare: option(
      "WHEN",
      "Compare with an equally long span that starts at WHEN, or with the one before (previous)",
      { some: [PREVIOUS] },
    ),
    ...ZONE_OPTIONS,
    ...FILTER_OPTIONS,
    tag: option("KEY=VALUE", "Only calls with this tag; if repeated, only calls with all of them", {
      live: "tag",
    }),
    total: flag("Only the total"),
    forecast: flag("Only the forecast of this month"),
    "what-if": option("MODEL", "What the same usage would cost on another model, such as openai:gpt-6-luna"),
    csv: flag("Print CSV, for a spreadsheet; all rows unless --limit is given"),
    limit: option("N", "Maximum number of rows, 1 to 1000 (default 100; 10 without --by)"),
  },
  examples: [
    ["purser cost", "Today, this week, this month; by agent and by model"],
    [
      "purser cost --by agent --since yesterday --until today --compare previous",
      "Why did yesterday's spend jump?",
    ],
    ["purser cost --by model --key laptop --since month", "What one API key has used this month"],
    ["purser cost --by run --sort cost", "The most expensive runs"],
    ["purser cost --by agent --split model --since 24h", "Which agent uses which model"],
    ["purser cost --by model --since 7d --compare previous", "This week and the one before"],
    ["purser cost --by tag:customer --tag feature=search", "By customer, of one feature"],
    ["purser cost --by project --since month", "By git project, of imported calls"],
    ["purser cost --by day --since 2026-11-01 --csv", "For a spreadsheet"],
    ["purser cost --by week --since quarter --tz Europe/Berlin", "By the weeks of Berlin"],
    ["purser cost --total --since 2026-11-01 --json", "For another program"],
    ["purser cost --what-if openai:gpt-6-luna --by agent", "On another model"],
  ],
  isReadOnly: true,
  run: showCosts,
};

async function showCosts(ctx: CommandContext): Promise<void> {
  const { options, isJson } = ctx;
  const groupBy = readGroup(options, "by", GROUPINGS);
  const splitBy = readGroup(options, "split", SPLITS);
  const sort = options.oneOf("sort", COST_SORTS);
  const limit = options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.costs.max });
  checkTogether(ctx);
  const calendar = await readReportCalendar(ctx);
  const span = readSpan(ctx, groupBy, calendar);
  const { to } = span;
  const tag = Object.entries(readTags(options) ?? {}).map(([key, value]) => `${key}:${value}`);
  const scope = {
    ...readFilters(options),
    tag: tag.length === 0 ? undefined : tag,
  };
  const otherModel = options.text("what-if");
  if (otherModel !== undefined) {
    const query = { ...scope, model: otherModel, from: span.from, to, limit: String(limit ?? 100) };
    return await printWhatIf(ctx, query, groupBy ?? "model");
  }
  const query = { ...scope, from: span.from, to, ...readComparison(ctx, span.from, to, calendar) };
  const tables = await import("./cost_tables.ts");
  if (options.has("forecast")) return await tables.printForecast(ctx, { ...scope, ...monthOf(calendar) });
  if (options.has("total")) return await tables.printTotal(ctx, query, calendar.timeZone);
  const rows = {
    ...query,
    ...queryOfCalendar(calendar),
    group_by: groupBy ?? "agent" as const,
    split_by: splitBy,
    sort,
  };
  if (options.has("csv")) return await tables.printCsv(ctx, rows, limit);
  const isOverview = [groupBy, splitBy, sort, to, query.compare_from].every((part) => part === undefined);
  if (isOverview && !isJson) {
    return await printOverview(ctx, scope, { span, calendar, limit: limit ?? OVERVIEW_ROWS });
  }
  await tables.printTable(ctx, rows, {
    spanName: span.name,
    timeZone: calendar.timeZone,
    limit: limit ?? 100,
  });
}

/** The number of agents and of models in the overview, so that the totals above them stay on the screen. */
const OVERVIEW_ROWS = 10;

/** The options that have no meaning beside another. */
const EXCLUDED: Readonly<Record<string, readonly string[]>> = {
  csv: ["json", "what-if", "total", "forecast"],
  total: ["by", "split", "sort", "limit", "what-if", "forecast"],
  forecast: ["by", "split", "sort", "limit", "since", "until", "compare", "what-if"],
  "what-if": ["split", "sort", "compare", "model"],
};

function checkTogether({ options, isJson }: CommandContext): void {
  const isGiven = (name: string) => name === "json" ? isJson : options.has(name);
  for (const [name, others] of Object.entries(EXCLUDED)) {
    const other = isGiven(name) ? others.find(isGiven) : undefined;
    if (other === undefined) continue;
    throw new UsageError(`Cannot use --${name} together with --${other}: give one of them`, options.command);
  }
}

/** Returns the second span of `--compare`, which is as long as the first. */
function readComparison(
  ctx: CommandContext,
  from: string | undefined,
  to: string | undefined,
  calendar: Calendar,
): { compare_from?: string; compare_to?: string } {
  const { options } = ctx;
  const now = ctx.clock.now();
  const start = options.read("compare", (text) => {
    if (from === undefined) throw new Error("no span is before all time; give --since");
    const lengthMs = (to === undefined ? now : Date.parse(to)) - Date.parse(from);
    const start = text === PREVIOUS
      ? Date.parse(from) - lengthMs
      : Date.parse(parseSince(text, now, calendar) ?? "");
    if (Number.isNaN(start)) throw new Error("write the start of the other span, or previous");
    return { compare_from: toIso(Math.max(0, start)), compare_to: toIso(Math.max(0, start + lengthMs)) };
  });
  return start ?? {};
}

/** The time range whose calls count, and its name in titles. */
interface Span {
  from: string | undefined;
  to: string | undefined;
  name: string;
}

function readSpan(ctx: CommandContext, groupBy: string | undefined, calendar: Calendar): Span {
  const { options } = ctx;
  const now = ctx.clock.now();
  const minuteOf = (time: string) => formatMinute(time, calendar.timeZone);
  const to = options.read("until", (text) => parseSince(text, now, calendar));
  const until = to === undefined ? "" : ` until ${minuteOf(to)}`;
  if (options.has("since")) {
    const from = options.read("since", (text) => parseSince(text, now, calendar));
    const all = to === undefined ? "of all time" : "of all time,";
    return { from, to, name: (from === undefined ? all : `since ${minuteOf(from)}`) + until };
  }
  const [from, name] = groupBy === "hour"
    ? [startOf("hour", now, -23), "of the last 24 hours"]
    : [startOf("day", now, -29, calendar), "of the last 30 days"];
  return { from: toIso(from), to, name: to === undefined ? name : `${name},${until}` };
}

async function printOverview(
  ctx: CommandContext,
  scope: Scope,
  { span, calendar, limit }: { span: Span; calendar: Calendar; limit: number },
): Promise<void> {
  const { api } = await ctx.connect();
  const now = ctx.clock.now();
  const today = startOf("day", now, 0, calendar);
  const days7 = Array.from({ length: 7 }, (_, index) => startOf("day", now, index - 6, calendar));
  const monthStart = startOf("month", now, 0, calendar);
  const read = async (from?: number) => {
    const query = { ...scope, from: from === undefined ? undefined : toIso(from) };
    return await (await api.costs.total.$get({ query })).json();
  };
  const sum = async (from: number) => toSpend(await read(from));
  const [spentToday, spentInWeek, spentInMonth, total, days, agents, models, forecast, anomalies] =
    await Promise
      .all([
        sum(today),
        sum(ctx.clock.now() - 7 * DAY_MS), // as --since 7d
        sum(monthStart),
        read(),
        readAllCosts(api, {
          ...scope,
          ...queryOfCalendar(calendar),
          group_by: "day",
          from: toIso(days7[0]!),
        }),
        readAllCosts(api, { ...scope, group_by: "agent", from: span.from }),
        readAllCosts(api, { ...scope, group_by: "model", from: span.from }),
        api.costs.forecast.$get({ query: { ...scope, ...monthOf(calendar) } }).then((answer) =>
          answer.json()
        ),
        readNewestAnomalies(api, span.from, scope.agent_id),
      ]);
  const everything = toSpend(total);
  if (everything.modelCalls === 0) {
    await checkScope(ctx, scope);
    const isFiltered = Object.values(scope).some((part) => part !== undefined);
    return ctx.print(
      isFiltered ? "No such model call has been booked yet" : "No model call has been booked yet",
    );
  }

  const names = [
    ...agents.slice(0, limit).map((row) => nameOf(row, "agent")),
    ...models.slice(0, limit).map((row) => nameOf(row, "model")),
  ];
  const layout = {
    ...ctx.layout,
    nameWidth: Math.min(30, Math.max(14, ...names.map((name) => textWidth(escapeText(name))))),
  };
  const section = (title: string, table: string) => `${ctx.style.bold(title)}\n${table}`;
  const periods = renderPeriods(
    [
      { name: "Today", spend: spentToday },
      { name: "Last 7 days", spend: spentInWeek },
      { name: "This month", spend: spentInMonth },
      { name: "All time", spend: everything },
    ],
    layout,
    calendar.timeZone,
  );
  const parts = [[periods, ...renderForecast(forecast, layout).map(ctx.style.dim)].join("\n")];
  const week = fillDays(days, days7.map((start) => dateIn(calendar.timeZone, start)));
  // A chart with one bar would repeat the table above it.
  if (week.filter((row) => row.model_calls > 0).length > 1) {
    parts.push(
      section(
        `By day (${calendar.timeZone})`,
        renderCosts(week, { groupBy: "day", timeZone: calendar.timeZone }, layout),
      ),
    );
  }
  for (const [groupBy, rows] of [["agent", agents], ["model", models]] as const) {
    if (rows.length === 0) continue;
    const more = renderMore(rows.length - limit, groupBy, layout.columns).map((line) =>
      `\n${ctx.style.dim(line)}`
    ).join("");
    const title = `By ${groupBy}, ${span.name.replace(/^of /, "")}`;
    const total = sumRows(rows).costNanoUsd;
    parts.push(section(title, renderCosts(rows.slice(0, limit), { groupBy, total }, layout) + more));
  }
  if (agents.length === 0) parts.push(`No calls ${span.name}`);
  if (anomalies.length > 0) {
    const title = `Anomalies, ${span.name.replace(/^of /, "")}`;
    parts.push(section(title, renderAnomalies(anomalies, layout)));
  }
  const { describeLowerBounds } = await import("../../render/lower_bounds.ts");
  const bounds = await describeLowerBounds(ctx, scope, total);
  if (bounds.length > 0) parts.push(bounds.join("\n"));
  ctx.print(parts.join("\n\n"));
  warnOfUnpriced(ctx, everything);
}

/** Returns the lines below a cut table; a command is not broken, so that it can be copied. */
function renderMore(left: number, groupBy: string, columns = Infinity): string[] {
  if (left <= 0) return [];
  const [count, command] = [`and ${left} more:`, `purser cost --by ${groupBy} --limit 1000`];
  return count.length + 1 + command.length <= columns ? [`${count} ${command}`] : [count, command];
}

/** The options that select calls. */
interface Scope extends Filters {
  tag: string[] | undefined;
}

/** Returns the rows of days, including days without a call. */
function fillDays(rows: readonly CostRow[], days: readonly string[]): CostRow[] {
  return days.map((day) =>
    rows.find((row) => row.day === day) ??
      { day, model_calls: 0, unpriced_calls: 0, partly_priced_calls: 0, total_tokens: 0, cost_usd: 0 }
  );
}

/** `purser cost --what-if MODEL`: the cost of the same usage on another model */
export async function printWhatIf(
  ctx: CommandContext,
  query: Scope & { model: string; from: string | undefined; to: string | undefined; limit: string },
  groupBy: CostGroups["groupBy"],
): Promise<void> {
  const { api } = await ctx.connect();
  const answer = await api.costs["what-if"].$get({ query: { ...query, group_by: groupBy } });
  let notes: readonly string[] = [];
  await printAnswer(ctx, answer, async (body) => {
    if (body.rows.length === 0) await checkScope(ctx, query);
    notes = body.notes;
    return body.rows.length === 0 ? "No calls" : renderWhatIf(body, groupBy, ctx.layout);
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
export function renderWhatIf(
  { rows, model }: WhatIf,
  groupBy: CostGroups["groupBy"],
  layout: CostLayout,
): string {
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
    { title: titleOf(groupBy), cell: ({ name }) => name, cutTo: 12 },
    { title: "CALLS", align: "right", cell: ({ calls }) => formatCount(calls), drop: 1 },
    { title: "COST", align: "right", cell: (line) => cell(line, "actual") },
    { title: `ON ${model}`, align: "right", cell: (line) => cell(line, "other") },
    { title: "CHANGE", align: "right", cell: ({ actual, other }) => formatChange(actual, other), drop: 2 },
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
