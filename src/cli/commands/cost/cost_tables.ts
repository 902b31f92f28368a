import type { CommandContext } from "../../command.ts";
import { type NanoUsd, parseTotalUsd } from "../../../kernel/money.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { printCsvPages } from "../../render/print_csv.ts";
import { formatAmounts, formatChange, formatCost, planColumn, planOf } from "../../render/format_cost.ts";
import { countOf, formatCount, formatMinute } from "../../render/format_values.ts";
import {
  type CostGroups,
  type CostLayout,
  type CostQuery,
  type CostRow,
  nameColumns,
  renderCosts,
  renderForecast,
  toSpend,
  warnOfUnpriced,
} from "../../render/render_costs.ts";
import { type Column, renderTable } from "../../render/render_table.ts";
import type { Filters } from "../../parse/dimension_options.ts";
import { checkScope } from "../../parse/check_scope.ts";
import { wrapText } from "../../terminal/wrap_text.ts";
import { describeLowerBounds } from "../../render/lower_bounds.ts";
import { renderFields } from "../../render/render_fields.ts";

/** The part of a query that selects calls. */
type TotalQuery = Filters & Pick<CostQuery, "tag" | "from" | "to" | "compare_from" | "compare_to">;
type Query =
  & TotalQuery
  & Pick<CostQuery, "split_by" | "sort" | "time_zone" | "week_start" | "month_start_day">
  & {
    group_by: NonNullable<CostQuery["group_by"]>;
  };

/** Returns the part of a query that selects calls. */
function totalQueryOf(query: Query): TotalQuery {
  const {
    group_by: _1,
    split_by: _2,
    sort: _3,
    time_zone: _4,
    week_start: _5,
    month_start_day: _6,
    ...scope
  } = query;
  return scope;
}

/** The groups without the calls that have no value. */
const WITH: Partial<Record<Query["group_by"], string>> = { session: "with a session", run: "of a run" };

/** `purser cost --by GROUP`: one table, and the total of all calls */
export async function printTable(
  ctx: CommandContext,
  query: Query,
  { spanName, timeZone, limit }: { spanName: string; timeZone: string; limit: number },
): Promise<void> {
  const { group_by: groupBy, split_by: splitBy } = query;
  const scope = totalQueryOf(query);
  const { api } = await ctx.connect();
  const answer = await api.costs.$get({ query: { ...query, limit: String(limit) } });
  if (ctx.isJson) return ctx.print(await answer.text());
  const rows = await answer.json();
  if (rows.length === 0) {
    await checkScope(ctx, query);
    const having = WITH[groupBy];
    return ctx.print(
      having ? `No calls ${having} ${spanName.replace(/^of /, "in ")}` : `No calls ${spanName}`,
    );
  }
  const total = await (await api.costs.total.$get({ query: scope })).json();
  if (total.previous) {
    ctx.print(renderComparison(rows, total, { groupBy, splitBy }, ctx.layout));
  } else {
    const table = renderCosts(
      rows,
      { groupBy, splitBy, timeZone, total: toSpend(total).costNanoUsd },
      ctx.layout,
    );
    const lines = wrapText(`${describeTotal(total)} ${spanName}`, ctx.terminal.stdout.columns ?? Infinity);
    ctx.print([table, ...lines.map(ctx.style.dim)].join("\n"));
  }
  for (const line of await describeLowerBounds(ctx, scope, total)) ctx.print(line);
  warnOfUnpriced(ctx, toSpend(total));
  if (hasMore(answer)) ctx.say("There are more rows; --limit shows up to 1000");
}

const describeTotal = (total: CostRow) =>
  `Total ${formatCost(total.cost_usd)}${
    total.plan_usd ? `, beside a plan value of ${formatCost(total.plan_usd)},` : ""
  } in ${countOf(total.model_calls, "call")}`;

/** A row of costs with those of another span. */
type ComparedRow = CostRow & {
  previous?: Pick<CostRow, "model_calls" | "cost_usd"> | undefined;
  difference_usd?: number | null | undefined;
};

/** Renders costs by group beside those of another span, with the difference, and the total of all groups. */
function renderComparison(
  rows: readonly ComparedRow[],
  total: ComparedRow,
  groups: CostGroups,
  layout: CostLayout,
): string {
  const all = [...rows, total];
  const amounts = formatAmounts(all.flatMap((row) => [
    nanoOf(row.cost_usd),
    nanoOf(row.previous?.cost_usd),
    abs(nanoOf(row.difference_usd)),
  ]));
  const cell = (row: ComparedRow, usd: number | null | undefined, part: number) =>
    usd === null || usd === undefined ? "no price" : amounts[all.indexOf(row) * 3 + part]!;
  const [first, ...others] = nameColumns(all, groups, layout);
  const columns: Column<ComparedRow>[] = [
    { ...first!, cell: (row) => row === total ? "All" : first!.cell(row) },
    ...others.map((column) => ({
      ...column,
      cell: (row: ComparedRow) => row === total ? "" : column.cell(row),
    })),
    { title: "COST", align: "right", cell: (row) => cell(row, row.cost_usd, 0) },
    { title: "BEFORE", align: "right", cell: (row) => cell(row, row.previous?.cost_usd, 1) },
    {
      title: "DIFFERENCE",
      align: "right",
      cell: (row) =>
        row.difference_usd == null ? "" : signOf(row.difference_usd) + cell(row, row.difference_usd, 2),
      drop: 2,
    },
    {
      title: "CHANGE",
      align: "right",
      cell: changeOf,
      drop: 1,
    },
    ...planColumn(all, planOf),
    { title: "CALLS", align: "right", cell: (row) => formatCount(row.model_calls), drop: 4 },
    { title: "BEFORE", align: "right", cell: (row) => formatCount(row.previous?.model_calls ?? 0), drop: 5 },
  ];
  return renderTable(all, columns, layout);
}

const nanoOf = (usd: number | null | undefined): NanoUsd => usd == null ? 0n : parseTotalUsd(usd);
const abs = (amount: NanoUsd) => amount < 0n ? -amount : amount;
const signOf = (usd: number) => usd < 0 ? "-" : usd > 0 ? "+" : "";

const changeOf = ({ cost_usd, previous }: ComparedRow) =>
  cost_usd === null ? "" : formatChange(nanoOf(previous?.cost_usd), nanoOf(cost_usd));

/** `purser cost --total`: the sums of all calls */
export async function printTotal(
  ctx: CommandContext,
  query: TotalQuery,
  timeZone: string,
): Promise<void> {
  const { api } = await ctx.connect();
  const minute = (time: string | null) => time === null ? "-" : formatMinute(time, timeZone);
  let total: CostRow & { lower_bound_calls?: number } | undefined;
  await printAnswer(ctx, await api.costs.total.$get({ query }), async (body) => {
    if (body.model_calls === 0) await checkScope(ctx, query);
    total = body;
    const { previous, difference_usd } = body;
    const { style, terminal: { stdout: { columns } } } = ctx;
    return renderFields({
      "Since": minute(body.from),
      "Until": minute(body.to),
      "Cost": formatCost(body.cost_usd),
      "Plan value": body.plan_usd === undefined ? undefined : formatCost(body.plan_usd),
      "Before": previous && formatCost(previous.cost_usd),
      "Difference": difference_usd === undefined ? undefined : formatCost(difference_usd),
      "Model calls": formatCount(body.model_calls),
      "Tokens": `${formatCount(body.input_tokens)} in, ${formatCount(body.output_tokens)} out`,
    }, { style, columns });
  });
  if (!total) return;
  for (const line of await describeLowerBounds(ctx, query, total)) ctx.print(line);
  warnOfUnpriced(ctx, toSpend(total));
}

/** `purser cost --forecast`: the estimate for this month */
export async function printForecast(
  ctx: CommandContext,
  query: Filters & Pick<CostQuery, "tag" | "time_zone" | "month_start_day">,
): Promise<void> {
  const { api } = await ctx.connect();
  await printAnswer(ctx, await api.costs.forecast.$get({ query }), (body) => {
    const lines = renderForecast(body, ctx.layout);
    const none = "No forecast yet: it needs three days of spending with known prices";
    return [
      `Spent in ${body.month} (${body.time_zone}): ${formatCost(body.cost_usd)}`,
      ...lines.length > 0 ? lines : [none],
    ]
      .join("\n");
  });
}

/** `purser cost --csv` */
export async function printCsv(ctx: CommandContext, query: Query, limit: number | undefined): Promise<void> {
  const { api } = await ctx.connect();
  await printCsvPages(
    ctx,
    limit,
    (page, options) => api.costs.$get({ query: { ...query, ...page } }, options),
  );
}
