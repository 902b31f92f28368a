import type { Connection } from "../../client/mod.ts";
import type { CostForecast } from "../../contract/costs/cost_forecast.ts";
import { type Dimension, type FieldOf, type NameFields, nameIn } from "../../contract/costs/dimensions.ts";
import { type TagGroup, tagKeyOf } from "../../contract/tags/tags.ts";
import { type Grouping, type Split, SPLITS } from "../../contract/values.ts";
import { DAY_SPANS, type DaySpan } from "../../contract/windows.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import type { CommandContext } from "../command.ts";
import { PurserError } from "../../kernel/errors.ts";
import { type NanoUsd, parseTotalUsd, shortUsd } from "../../kernel/money.ts";
import type { CostRow as LedgerRow } from "../../ledger/mod.ts";
import type { Anomaly } from "../../contract/anomalies.ts";
import { formatAmounts, formatShare, planColumn, planOf } from "./format_cost.ts";
import { countOf, formatCount, formatTime, renderBar } from "./format_values.ts";
import { escapeText } from "../terminal/escape_text.ts";
import { nextCursor } from "./print_answer.ts";
import { type Column, type Layout, putIdsBelow, renderTable } from "./render_table.ts";
import { wrapText } from "../terminal/wrap_text.ts";

/** The fields of a row of `GET /costs` that commands use. */
export type CostRow =
  & Pick<
    LedgerRow,
    | FieldOf<Dimension>
    | keyof NameFields
    | "source"
    | "hour"
    | DaySpan
    | "tag_value"
    | "last_at"
  >
  & Pick<
    LedgerRow,
    "model_calls" | "unpriced_calls" | "partly_priced_calls" | "total_tokens" | "cost_usd" | "plan_usd"
  >;

/** The sums of rows; the cost in nano-USD. */
export interface Spend {
  modelCalls: number;
  unpricedCalls: number;
  /** Calls of which a part has no price. */
  partlyPricedCalls: number;
  totalTokens: number;
  costNanoUsd: NanoUsd;
  /** The plan value: the cost by the API of the calls that a plan pays for. */
  planNanoUsd: NanoUsd;
}

/** Returns the cost of a row. Calls without a known price count as 0, as in the API's sums. */
export function costOf(row: CostRow): NanoUsd {
  return row.cost_usd === null ? 0n : parseTotalUsd(row.cost_usd);
}

/** Sums rows exactly. */
export function sumRows(rows: readonly CostRow[]): Spend {
  const none = { model_calls: 0, unpriced_calls: 0, partly_priced_calls: 0, total_tokens: 0, cost_usd: 0 };
  return rows.map(toSpend).reduce((sum, row) => ({
    modelCalls: sum.modelCalls + row.modelCalls,
    unpricedCalls: sum.unpricedCalls + row.unpricedCalls,
    partlyPricedCalls: sum.partlyPricedCalls + row.partlyPricedCalls,
    totalTokens: sum.totalTokens + row.totalTokens,
    costNanoUsd: sum.costNanoUsd + row.costNanoUsd,
    planNanoUsd: sum.planNanoUsd + row.planNanoUsd,
  }), toSpend(none));
}

/** Returns the sums of a row or a total; the cost in nano-USD. */
export function toSpend(row: CostRow): Spend {
  return {
    modelCalls: row.model_calls,
    unpricedCalls: row.unpriced_calls,
    partlyPricedCalls: row.partly_priced_calls,
    totalTokens: row.total_tokens,
    costNanoUsd: costOf(row),
    planNanoUsd: planOf(row),
  };
}

/** Reads the rows of all pages. */
export async function readAllCosts(
  api: Connection["api"],
  query: CostQuery,
): Promise<CostRow[]> {
  const rows: CostRow[] = [];
  let cursor: string | undefined;
  do {
    const answer = await api.costs.$get({ query: { ...query, limit: "1000", cursor } });
    rows.push(...await answer.json());
    cursor = nextCursor(answer);
  } while (cursor !== undefined);
  return rows;
}

/** The query of `GET /costs`. */
export type CostQuery = Parameters<Connection["api"]["costs"]["$get"]>[0]["query"];

/** The layout of tables of costs. */
export interface CostLayout extends Required<Layout> {
  /** The minimum width of the names. */
  nameWidth?: number;
}

/** The groups of a table of costs. */
export interface CostGroups {
  groupBy: Grouping | TagGroup;
  splitBy?: Split | TagGroup | undefined;
  /** The time zone of days, weeks and months; default UTC. */
  timeZone?: string | undefined;
  /** The cost of which the shares are parts; default: that of the rows. */
  total?: NanoUsd;
}

/** The width of the cost beside an id, which is never cut. */
const ROOM_BESIDE_ID = 14;

const BAR = { min: 8, max: 24 };

/** Renders costs by group, each with a bar relative to the largest group, and its share of the total. */
export function renderCosts(rows: readonly CostRow[], groups: CostGroups, layout: CostLayout): string {
  const { groupBy, total = sumRows(rows).costNanoUsd } = groups;
  const amounts = new Map(zip(rows, formatAmounts(rows.map(costOf))));
  const largest = rows.reduce((max, row) => (costOf(row) > max ? costOf(row) : max), 0n);
  const hasIds = groupBy === "session" || groupBy === "run";
  const widest = Math.max(...rows.map((row) => nameOf(row, groupBy).length));
  const isBelow = hasIds && layout.columns !== undefined && widest + ROOM_BESIDE_ID > layout.columns;
  const columns: Column<CostRow>[] = [
    ...isBelow ? [] : nameColumns(rows, groups, layout),
    ...hasIds
      ? [{
        title: "AGENT",
        cell: (row: CostRow) => row.agent_id ?? "",
        cutTo: 6,
        ...!isBelow && { drop: 3 },
      }]
      : [],
    {
      title: "",
      cell: () => "",
      drop: 1,
      paint: (_, style) => style.cyan,
      stretch: {
        ...BAR,
        draw: (row, width) =>
          renderBar(Number(costOf(row)) / Number(largest || 1n), width, layout.hasUnicode),
      },
    },
    {
      title: "COST",
      align: "right",
      cell: (row) => (row.cost_usd === null ? "no price" : amounts.get(row)!),
    },
    ...planColumn(rows, planOf),
    { title: "SHARE", align: "right", cell: (row) => formatShare(costOf(row), total), drop: 2 },
    { title: "CALLS", align: "right", cell: (row) => formatCount(row.model_calls), drop: 4 },
    { title: "TOKENS", align: "right", cell: (row) => formatCount(row.total_tokens), drop: 5 },
    ...hasIds
      ? [{
        title: "LAST CALL (UTC)",
        cell: ({ last_at }: CostRow) => last_at === undefined ? "" : formatTime(last_at).slice(0, 16),
        drop: 0,
      }]
      : [],
    ...countColumn(rows, "UNPRICED", (row) => row.unpriced_calls),
    ...countColumn(rows, "PARTLY", (row) => row.partly_priced_calls),
  ];
  const table = renderTable(rows, columns, layout);
  if (!isBelow) return table;
  return putIdsBelow(table, rows.map((row) => layout.style.dim(escapeText(nameOf(row, groupBy)))));
}

/** Returns the columns that name a row's group; of rows of one group after another, the first names it. */
export function nameColumns<Row extends CostRow>(
  rows: readonly Row[],
  { groupBy, splitBy, timeZone }: CostGroups,
  { nameWidth }: CostLayout,
): Column<Row>[] {
  const nameOf = namesOf(rows);
  const repeated = new Set(
    rows.filter((row, index) => index > 0 && nameOf(row, groupBy) === nameOf(rows[index - 1]!, groupBy)),
  );
  const column = (by: Group, cell: (row: Row) => string): Column<Row> => ({
    title: titleOf(by, timeZone),
    cell,
    cutTo: isName(by) ? 12 : undefined,
    atLeast: nameWidth,
  });
  return [
    column(groupBy, (row) => splitBy && repeated.has(row) ? "" : nameOf(row, groupBy)),
    ...splitBy ? [column(splitBy, (row) => nameOf(row, splitBy))] : [],
  ];
}

type Group = CostGroups["groupBy"];

/** Returns the function that names groups; keys of one name get their ids too. */
function namesOf(rows: readonly CostRow[]): (row: CostRow, groupBy: Group) => string {
  const ids = new Map<string, Set<string | null>>();
  for (const { key_id, key_name } of rows) {
    if (key_id && key_name) ids.set(key_name, (ids.get(key_name) ?? new Set()).add(key_id));
  }
  return (row, groupBy) => {
    const isShared = groupBy === "key" && (ids.get(row.key_name ?? "")?.size ?? 0) > 1;
    return isShared ? `${row.key_name} (${row.key_id})` : nameOf(row, groupBy);
  };
}

const isName = (groupBy: Group) =>
  (SPLITS as readonly string[]).includes(groupBy) || tagKeyOf(groupBy) !== undefined;

/** Returns the title of the column that names the groups. */
export const titleOf = (groupBy: Group, timeZone = "UTC") =>
  (tagKeyOf(groupBy) ?? groupBy).toUpperCase() +
  (groupBy === "hour" ? " (UTC)" : isDaySpan(groupBy) ? ` (${timeZone})` : "");

const isDaySpan = (groupBy: Group): groupBy is DaySpan => DAY_SPANS.some((span) => span === groupBy);

/** Renders the forecast of a month, a range if both ways to estimate it differ; no line without a forecast. */
export function renderForecast(
  forecast: CostForecast,
  { columns = Infinity }: Pick<CostLayout, "columns">,
): string[] {
  const { month, as_of, pace_from, forecast_usd, weekday_forecast_usd = null } = forecast;
  const estimates = [weekday_forecast_usd, forecast_usd].flatMap((usd) =>
    usd === null ? [] : [parseTotalUsd(usd)]
  );
  if (estimates.length === 0 || pace_from === null) return [];
  const days = Math.round((Date.parse(as_of) - Date.parse(pace_from)) / DAY_MS * 10) / 10;
  // Short: an estimate is not exact.
  const sorted = estimates.sort((a, b) => a < b ? -1 : a > b ? 1 : 0).map((amount) => shortUsd(amount));
  const amounts = [...new Set(sorted)];
  const ways = [
    ...weekday_forecast_usd === null ? [] : ["by weekday"],
    ...forecast_usd === null ? [] : [`at the pace of the last ${days} days`],
  ];
  return wrapText(`Forecast for ${month}: about ${amounts.join(" to ")}, ${ways.join(" and ")}`, columns);
}

/** Renders the costs of named periods. */
export function renderPeriods(
  periods: readonly { name: string; spend: Spend }[],
  layout: CostLayout,
  timeZone: string,
): string {
  const amounts = new Map(zip(periods, formatAmounts(periods.map(({ spend }) => spend.costNanoUsd))));
  return renderTable(periods, [
    { title: `SPENDING (${timeZone})`, cell: ({ name }) => name, atLeast: layout.nameWidth },
    {
      title: "COST",
      align: "right",
      cell: (period) => (isUnpriced(period.spend) ? "no price" : amounts.get(period)!),
      paint: (_, style) => style.bold,
    },
    ...planColumn(periods, ({ spend }) => spend.planNanoUsd),
    { title: "CALLS", align: "right", cell: ({ spend }) => formatCount(spend.modelCalls), drop: 1 },
    { title: "TOKENS", align: "right", cell: ({ spend }) => formatCount(spend.totalTokens), drop: 2 },
    ...countColumn(periods, "UNPRICED", ({ spend }) => spend.unpricedCalls),
    ...countColumn(periods, "PARTLY", ({ spend }) => spend.partlyPricedCalls),
  ], layout);
}

/** Returns whether there are calls and none has a known price: the cost is then unknown, not 0. */
function isUnpriced({ modelCalls, unpricedCalls }: Spend): boolean {
  return modelCalls > 0 && unpricedCalls === modelCalls;
}

/** Returns the warning about calls that count as 0 because their price is unknown. */
function unpricedWarning(unpricedCalls: number): string {
  return `${countOf(unpricedCalls, "call")} without a known price ${
    unpricedCalls === 1 ? "counts" : "count"
  } as $0 here: set it by purser prices set PROVIDER:MODEL --input … --output …, then run purser reprice --unpriced`;
}

/** Returns the warning about calls of which a part counts as 0. */
function partlyPricedWarning(partlyPricedCalls: number): string {
  return `${countOf(partlyPricedCalls, "call")} ${
    partlyPricedCalls === 1 ? "has" : "have"
  } a part without a known price, which counts as $0 here: purser cost explain names it`;
}

/** Warns of calls whose cost is not wholly known. */
export function warnOfUnpriced(
  { warn }: Pick<CommandContext, "warn">,
  { unpricedCalls, partlyPricedCalls }: Spend,
): void {
  if (unpricedCalls > 0) warn(unpricedWarning(unpricedCalls));
  if (partlyPricedCalls > 0) warn(partlyPricedWarning(partlyPricedCalls));
}

/** Returns a column of calls that are not wholly priced, unless all its cells would be empty. */
function countColumn<Row>(
  rows: readonly Row[],
  title: string,
  count: (row: Row) => number,
): Column<Row>[] {
  if (rows.every((row) => count(row) === 0)) return [];
  return [{
    title,
    align: "right",
    cell: (row) => (count(row) === 0 ? "" : formatCount(count(row))),
    paint: (_, style) => style.yellow,
  }];
}

/** Returns the name of a row's group. */
export function nameOf(row: CostRow, groupBy: Group): string {
  if (groupBy === "hour") return (row.hour ?? "").slice(0, 16).replace("T", " ");
  if (isDaySpan(groupBy)) return row[groupBy] ?? "";
  if (groupBy === "source") return row.source ?? "(no source)";
  const tag = tagKeyOf(groupBy);
  if (tag !== undefined) return row.tag_value ?? `(no ${tag})`;
  return nameIn(row, groupBy as Dimension) ?? `(no ${groupBy})`;
}

function zip<A, B>(left: readonly A[], right: readonly B[]): [A, B][] {
  return left.map((value, index) => [value, right[index]!]);
}

/** The number of anomalies in the overview. */
const SHOWN = "5";

/** Reads the newest anomalies since a time; an empty list from servers of versions without them. */
export async function readNewestAnomalies(
  api: Connection["api"],
  from: string | undefined,
  agent_id: string | undefined,
): Promise<Anomaly[]> {
  try {
    return await (await api.anomalies.$get({ query: { from, agent_id, limit: SHOWN } })).json();
  } catch (error) {
    if (error instanceof PurserError && error.code === "not_found") return [];
    throw error;
  }
}

/** Renders anomalies, one a line. */
export function renderAnomalies(anomalies: readonly Anomaly[], layout: CostLayout): string {
  return renderTable(anomalies, [
    {
      title: "SEVERITY",
      cell: ({ severity }) => severity,
      paint: ({ severity }, style) => (severity === "critical" ? style.red : style.yellow),
    },
    { title: "WHEN (UTC)", cell: ({ detected_at: at }) => formatTime(at).slice(0, 16), drop: 0 },
    // Dropped first: the message names the agent too.
    { title: "AGENT", cell: ({ agent_id: agentId }) => agentId, cutTo: 12, drop: 1 },
    { title: "MESSAGE", cell: ({ message }) => message, cutTo: 20 },
  ], layout);
}
