import type { Budget } from "../../../contract/budgets.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import type { Command, CommandContext } from "../../command.ts";
import {
  describeCounted,
  formatAmount,
  formatBudgetSpent,
  formatState,
  paintState,
} from "../../render/describe_budget.ts";
import { formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { type Column, putIdsBelow, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { createStyle, type Style } from "../../terminal/style.ts";
import { textWidth } from "../../terminal/text_width.ts";

const NONE = "No budgets yet. Add one: purser budgets add --name Day --limit 50 --per day";

/** `purser budgets list` */
export const budgetsList: Command = {
  name: "budgets list",
  args: [],
  summary: "List budgets, and what is spent and left in each",
  detail:
    "SPENT is the spending in the present window, beside the limit with its raises. Where each agent, session, key or run " +
    "has a counter of its own, it is that of the counter with the most spending.",
  options: {},
  examples: [["purser budgets list", ""]],
  isReadOnly: true,
  run: listBudgets,
};

async function listBudgets(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  const answer = await api.budgets.$get({ query: { limit: String(PAGE_SIZES.budgets.max) } });
  const { columns } = ctx.terminal.stdout;
  await printAnswer(
    ctx,
    answer,
    (budgets) =>
      budgets.length === 0
        ? NONE
        : renderBudgets(budgets, { columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode }),
  );
  if (hasMore(answer)) ctx.say(`Only the first ${PAGE_SIZES.budgets.max} budgets are shown`);
}

const MIN_NAME_WIDTH = 12;
const MIN_COUNTED_WIDTH = 7;

function renderBudgets(
  budgets: readonly Budget[],
  options: { columns: number | undefined; style: Style; hasUnicode: boolean },
): string {
  const { style, columns = Infinity } = options;
  const name: Column<Budget> = {
    title: "NAME",
    cell: ({ name }) => name,
    paint: (_, style) => style.bold,
    cutTo: MIN_NAME_WIDTH,
  };
  const id: Column<Budget> = { title: "ID", cell: ({ budget_id }) => budget_id };
  const rest: Column<Budget>[] = [
    { title: "COUNTS", cell: describeCounted, cutTo: MIN_COUNTED_WIDTH, drop: 0 },
    { title: "SPENT", cell: formatBudgetSpent, paint: paintState },
  ];
  const state: Column<Budget> = { title: "STATE", cell: formatState, paint: paintState, drop: 1 };
  // Other commands need the whole id: where there is no room for it, it goes to a line of its own, and says what is disabled.
  const needed = [name, id, ...rest, ...budgets.every(({ enabled }) => enabled) ? [] : [state]];
  const plain = renderTable(budgets, needed, { columns: undefined, style: createStyle(false) });
  const isBeside = Math.max(...plain.split("\n").map(textWidth)) <= columns;
  const table = renderTable(budgets, [
    name,
    ...(isBeside ? [id] : []),
    ...rest,
    { title: "RESERVED", cell: ({ reserved_usd }) => formatAmount(reserved_usd), align: "right", drop: 3 },
    { title: "LEFT", cell: ({ left_usd }) => formatAmount(left_usd), align: "right", drop: 2 },
    { title: "MODE", cell: ({ mode }) => mode, drop: 4 },
    state,
    { title: "RESETS (UTC)", cell: ({ resets_at }) => formatTime(resets_at).slice(0, 16), drop: 5 },
  ], options);
  if (isBeside) return table;
  // The state may have been dropped from the table.
  const hasState = table.split("\n")[0]!.includes("STATE");
  const idLine = ({ budget_id, enabled }: Budget) =>
    style.dim(escapeText(budget_id)) + (enabled || hasState ? "" : `  ${style.yellow("disabled")}`);
  return putIdsBelow(table, budgets.map(idLine));
}
