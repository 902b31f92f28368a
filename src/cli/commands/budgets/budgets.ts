import type { Budget } from "../../../contract/budgets/budgets.ts";
import type { BudgetHold } from "../../../contract/budgets/budget_state.ts";
import type { BudgetRelease } from "../../../contract/budgets/budget_releases.ts";
import type { BudgetRaise } from "../../../contract/budgets/budget_raises.ts";
import type { BudgetCounterState } from "../../../contract/budgets/budget_state.ts";
import { counterText } from "../../../contract/budgets/subjects.ts";
import { nameIn, nameOfValue } from "../../../contract/costs/dimensions.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import { COUNTER_SORTS } from "../../../contract/values.ts";
import { type Command, type CommandContext, flag, option } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { UsageError } from "../../parse/usage_error.ts";
import {
  andUnpriced,
  describeBudget,
  describeCounted,
  describePace,
  describeUnknown,
  formatAmount,
  formatBudgetSpent,
  formatReset,
  formatState,
  paintState,
  resetsColumn,
} from "../../render/describe_budget.ts";
import { countOf, formatTime } from "../../render/format_values.ts";
import { hasMore, nextCursor, printAnswer } from "../../render/print_answer.ts";
import { printCsvPages } from "../../render/print_csv.ts";
import { renderFields } from "../../render/render_fields.ts";
import { type Column, type Layout, renderTable, renderWithIds } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { wrapColumns } from "../../terminal/wrap_text.ts";
import { findId } from "../authored_commands.ts";
import { BUDGETS, CHANGE_COMMANDS } from "./change_budgets.ts";
import { budgetsCheck, budgetsExplain } from "./check_budgets.ts";
import { budgetsRefusals } from "./refusals.ts";

const NONE = "No budgets yet. Add one: purser budgets add --name Day --limit 50 --per day";

/** `purser budgets list` */
const budgetsList: Command = {
  name: "budgets list",
  args: [],
  summary: "List budgets, and what is spent and left in each",
  detail:
    "SPENT shows the spending in the present window, and the limit with its raises. If each agent, session, key " +
    "or run has its own counter, it shows the one with the most spending, which COUNTER names; purser budgets show lists " +
    "all of them.",
  options: {},
  examples: [["purser budgets list", ""]],
  isReadOnly: true,
  run: listBudgets,
};

async function listBudgets(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  const answer = await api.budgets.$get({ query: { limit: String(PAGE_SIZES.budgets.max) } });
  const { layout, style } = ctx;
  await printAnswer(ctx, answer, (budgets) =>
    budgets.length === 0 ? NONE : [
      renderBudgets(budgets, layout),
      ...listNextLimits(budgets, layout.columns).map(style.dim),
    ].join("\n"));
  if (hasMore(answer)) ctx.say(`Only the first ${PAGE_SIZES.budgets.max} budgets are shown`);
}

/** The number of budgets whose next limits are listed. */
const NEXT_LIMITS = 3;

/** Returns lines on the budgets that are used up first at the present pace. */
function listNextLimits(budgets: readonly Budget[], columns = Infinity): string[] {
  return budgets.filter(({ enabled, reaches_at }) => enabled && reaches_at)
    .sort((a, b) => a.reaches_at! < b.reaches_at! ? -1 : 1).slice(0, NEXT_LIMITS)
    .flatMap((budget) => wrapColumns(escapeText(`${budget.name}: ${describePace(budget)}`), columns));
}

const MIN_NAME_WIDTH = 12;
const MIN_COUNTED_WIDTH = 7;

function renderBudgets(budgets: readonly Budget[], layout: Layout): string {
  const rest: Column<Budget>[] = [
    { title: "COUNTS", cell: describeCounted, cutTo: MIN_COUNTED_WIDTH, drop: 0 },
    { title: "SPENT", cell: formatBudgetSpent, paint: paintState },
  ];
  const counter: Column<Budget> = {
    title: "COUNTER",
    cell: (budget) => budget.counter ? nameOfValue(budget.counter, budget) : "",
    cutTo: MIN_COUNTED_WIDTH,
    drop: 2,
  };
  const left: Column<Budget> = {
    title: "LEFT",
    cell: ({ left_usd }) => formatAmount(left_usd),
    align: "right",
    drop: 2,
  };
  const state: Column<Budget> = { title: "STATE", cell: formatState, paint: paintState, drop: 1 };
  return renderWithIds(budgets, {
    id: ({ budget_id }) => budget_id,
    name: { title: "NAME", cell: ({ name }) => name, paint: (_, style) => style.bold, cutTo: MIN_NAME_WIDTH },
    needed: [...rest, left, state],
    columns: () => [
      ...rest,
      ...budgets.every((budget) => !budget.counter) ? [] : [counter],
      { title: "RESERVED", cell: ({ reserved_usd }) => formatAmount(reserved_usd), align: "right", drop: 3 },
      left,
      { title: "MODE", cell: ({ mode }) => mode, drop: 4 },
      state,
      resetsColumn(budgets, 5),
    ],
    state: "STATE",
  }, layout);
}

/** The number of counters that are shown. */
const COUNTERS = 20;

/** `purser budgets show BUDGET` */
const budgetsShow: Command = {
  name: "budgets show",
  args: [BUDGETS.arg],
  summary: "Show a budget, its counters and its raises",
  detail:
    "If each agent, session, key or run has its own counter, those with the most spending are listed, with what is left " +
    "in each. Of a strict budget it lists what is held for lost calls, and what was released.",
  options: {
    sort: option("ORDER", "Order of the counters: used (default), left (the least first) or name", {
      oneOf: COUNTER_SORTS,
    }),
    limit: option("N", `Maximum number of counters, 1 to ${PAGE_SIZES.budgets.max} (default ${COUNTERS})`),
    cursor: option("CURSOR", "Continue the counters after those of another page, which names it"),
    csv: flag("Print the counters as CSV; all of them unless --limit is given"),
  },
  examples: [
    ["purser budgets show Day", ""],
    [
      "purser budgets show People --sort left --limit 100",
      "Of a budget for each key, those with the least left",
    ],
    ["purser budgets show Customers --csv", "For a spreadsheet"],
  ],
  isReadOnly: true,
  run: showBudget,
};

/** The number of newest raises, releases and holds that are shown. */
const SHOWN = 20;

async function showBudget(ctx: CommandContext): Promise<void> {
  const { options } = ctx;
  const limit = options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.budgets.max });
  const [sort, cursor] = [options.oneOf("sort", COUNTER_SORTS), options.text("cursor")];
  if (options.has("csv") && ctx.isJson) {
    throw new UsageError("Cannot use --csv together with --json: give one of them", options.command);
  }
  const budgetId = await findId(ctx, BUDGETS);
  const { api } = await ctx.connect();
  const param = { budget_id: idInPath(budgetId) };
  const readCounters = (page: { limit: string; cursor?: string }, init?: { headers: { accept: string } }) =>
    api.budgets[":budget_id"].counters.$get({ param, query: { sort, ...page } }, init);
  if (options.has("csv")) return await printCsvPages(ctx, limit, readCounters, cursor);
  const answer = await api.budgets[":budget_id"].$get({ param });
  if (ctx.isJson) return ctx.print(await answer.text());
  const budget = await answer.json();
  const counters = budget.counter === undefined
    ? undefined
    : await readCounters({ limit: String(limit ?? COUNTERS), ...(cursor !== undefined && { cursor }) });
  // A key of one agent may not see the amounts of a budget over all agents, nor its raises and releases.
  const isWhole = budget.spent_usd !== undefined;
  const query = { limit: String(SHOWN) };
  const raises = isWhole ? await (await api.budgets[":budget_id"].raises.$get({ param, query })).json() : [];
  const releases = isWhole && budget.mode === "strict"
    ? await (await api.budgets[":budget_id"].releases.$get({ param, query })).json()
    : [];
  ctx.print([
    describe(ctx, budget),
    ...counters ? listCounters(ctx, budget, await counters.json()) : [],
    ...listHolds(ctx, budget.holds ?? []),
    ...listRaises(ctx, raises),
    ...listReleases(ctx, releases),
  ].join("\n\n"));
  const next = counters && nextCursor(counters);
  if (next !== undefined) {
    ctx.say(`There are more counters; --limit shows up to 1000, and --cursor ${next} the next ones`);
  }
  const unknown = describeUnknown(budget);
  if (unknown) ctx.warn(escapeText(unknown));
}

function listCounters(
  { layout }: CommandContext,
  { per, each }: Budget,
  counters: readonly BudgetCounterState[],
): string[] {
  const nameOfCounter = (counter: BudgetCounterState) => nameOfValue(counter, counter);
  const names = counters.map(nameOfCounter);
  // The ids of keys that share a name.
  const isShared = (name: string) => names.filter((other) => other === name).length > 1;
  return tableOf(counters, [
    {
      title: (each ?? per).toUpperCase(),
      cell: (counter) => isShared(nameOfCounter(counter)) ? counter.id : nameOfCounter(counter),
      paint: (_, style) => style.bold,
      cutTo: MIN_NAME_WIDTH,
    },
    {
      title: "SPENT",
      cell: ({ spent_usd, unpriced_calls }) => formatAmount(spent_usd) + andUnpriced(unpriced_calls),
      align: "right",
      paint: paintState,
    },
    { title: "RESERVED", cell: ({ reserved_usd }) => formatAmount(reserved_usd), align: "right", drop: 2 },
    { title: "LEFT", cell: ({ left_usd }) => formatAmount(left_usd), align: "right" },
    { title: "STATE", cell: ({ state }) => state, paint: paintState, drop: 1 },
  ], layout);
}

/** Renders a table, or nothing without a row. */
function tableOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[], layout: Layout): string[] {
  return rows.length === 0 ? [] : [renderTable(rows, columns, layout)];
}

function describe({ layout }: CommandContext, budget: Budget): string {
  const { counter, refused_calls, last_refused_at, extra_usd } = budget;
  const refused = budget.action === "watch" ? "would have been refused" : "refused";
  return renderFields({
    "Budget": budget.name,
    "Id": budget.budget_id,
    "Limit": describeBudget(budget),
    "Counts from": budget.counts_from === null ? undefined : `${formatTime(budget.counts_from)} UTC`,
    "State": formatState(budget),
    "Counter": counter ? `${counterText(counter, budget)}, with the most spending` : undefined,
    "Spent": formatBudgetSpent(budget),
    "Raised by": extra_usd ? formatAmount(extra_usd) : undefined,
    "Reserved": formatAmount(budget.reserved_usd),
    "Held": budget.held_usd ? `${formatAmount(budget.held_usd)} of it, for lost calls` : undefined,
    "Left": formatAmount(budget.left_usd),
    "Pace": budget.usd_per_hour ? describePace(budget) : undefined,
    "Since": budget.window_start === null ? undefined : `${formatTime(budget.window_start)} UTC`,
    "Resets": budget.resets_at === null ? undefined : formatReset(budget),
    "Refused": refused_calls === undefined
      ? undefined
      : refused_calls === 0
      ? "no calls"
      : `${countOf(refused_calls, "call")} ${refused}, the last at ${
        formatTime(last_refused_at ?? null)
      } UTC`,
    "Created": `${formatTime(budget.created_at)} UTC`,
    "Updated": `${formatTime(budget.updated_at)} UTC`,
  }, layout);
}

function listRaises({ layout }: CommandContext, raises: readonly BudgetRaise[]): string[] {
  return tableOf(raises, [
    { title: "RAISE", cell: ({ extra_usd }) => formatAmount(extra_usd), align: "right" },
    ...raises.some(({ counter }) => counter)
      ? [{ title: "COUNTER", cell: ({ counter }: BudgetRaise) => counter?.id ?? "all", cutTo: 7 }]
      : [],
    { title: "UNTIL (UTC)", cell: ({ until }) => until === null ? "no end" : formatTime(until).slice(0, 16) },
    { title: "ADDED (UTC)", cell: ({ created_at }) => formatTime(created_at).slice(0, 16), drop: 1 },
    { title: "KEY", cell: (raise) => nameIn(raise, "key") ?? "-", drop: 2 },
    { title: "REASON", cell: ({ reason }) => reason ?? "-", cutTo: 6 },
  ], layout);
}

function listHolds({ layout }: CommandContext, holds: readonly BudgetHold[]): string[] {
  const table = tableOf(holds.slice(0, SHOWN), [
    { title: "HELD", cell: ({ held_usd }) => formatAmount(held_usd), align: "right" },
    { title: "SINCE (UTC)", cell: ({ at }) => formatTime(at).slice(0, 16) },
    { title: "WHY", cell: ({ reason }) => reason },
    { title: "AGENT", cell: ({ agent_id }) => agent_id ?? "-", drop: 1, cutTo: 6 },
    { title: "RESERVATION", cell: ({ reservation_id }) => reservation_id, drop: 2 },
  ], layout);
  const more = holds.length - SHOWN;
  return more > 0 ? [`${table}\nand ${more} more`] : table;
}

function listReleases({ layout }: CommandContext, releases: readonly BudgetRelease[]): string[] {
  return tableOf(releases, [
    { title: "RELEASED", cell: ({ released_usd }) => formatAmount(released_usd), align: "right" },
    { title: "CALLS", cell: ({ reservation_ids }) => String(reservation_ids.length), align: "right" },
    { title: "AT (UTC)", cell: ({ created_at }) => formatTime(created_at).slice(0, 16), drop: 1 },
    { title: "KEY", cell: (release) => nameIn(release, "key") ?? "-", drop: 2 },
    { title: "REASON", cell: ({ reason }) => reason, cutTo: 6 },
  ], layout);
}

/** The commands of budgets, in the order of the help. */
export const BUDGET_COMMANDS: readonly Command[] = [
  budgetsList,
  budgetsShow,
  ...CHANGE_COMMANDS,
  budgetsCheck,
  budgetsExplain,
  budgetsRefusals,
];
