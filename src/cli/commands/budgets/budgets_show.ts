import type { Budget, BudgetRaise } from "../../../contract/budgets.ts";
import type { Command, CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import {
  describeBudget,
  formatAmount,
  formatBudgetSpent,
  formatState,
} from "../../render/describe_budget.ts";
import { countOf, formatTime } from "../../render/format_values.ts";
import { renderFields } from "../../render/render_fields.ts";
import { renderTable } from "../../render/render_table.ts";
import { BUDGET_ARG, findBudgetId } from "./find_budget.ts";

/** `purser budgets show BUDGET` */
export const budgetsShow: Command = {
  name: "budgets show",
  args: [BUDGET_ARG],
  summary: "Show a budget, its state and its raises",
  options: {},
  examples: [["purser budgets show Day", ""]],
  isReadOnly: true,
  run: showBudget,
};

/** The number of newest raises that are shown. */
const RAISES = "20";

async function showBudget(ctx: CommandContext): Promise<void> {
  const budgetId = await findBudgetId(ctx);
  const { api } = await ctx.connect();
  const param = { budget_id: idInPath(budgetId) };
  const answer = await api.budgets[":budget_id"].$get({ param });
  if (ctx.isJson) return ctx.print(await answer.text());
  const budget = await answer.json();
  const raises = await api.budgets[":budget_id"].raises.$get({ param, query: { limit: RAISES } });
  ctx.print([describe(ctx, budget), ...listRaises(ctx, await raises.json())].join("\n\n"));
}

function describe({ style, terminal }: CommandContext, budget: Budget): string {
  const { counter, unpriced_calls, refused_calls, last_refused_at, extra_usd } = budget;
  const refused = budget.action === "watch" ? "would have been refused" : "refused";
  return renderFields({
    "Budget": budget.name,
    "Id": budget.budget_id,
    "Limit": describeBudget(budget),
    "Counts from": budget.counts_from === null ? undefined : `${formatTime(budget.counts_from)} UTC`,
    "State": formatState(budget),
    "Counter": counter ? `${counter.kind} ${counter.id}, with the most spending` : undefined,
    "Spent": formatBudgetSpent(budget),
    "Not counted": unpriced_calls ? `${countOf(unpriced_calls, "call")} without a known price` : undefined,
    "Raised by": extra_usd === 0 ? undefined : formatAmount(extra_usd),
    "Reserved": formatAmount(budget.reserved_usd),
    "Left": formatAmount(budget.left_usd),
    "Since": budget.window_start === null ? undefined : `${formatTime(budget.window_start)} UTC`,
    "Resets": budget.resets_at === null ? undefined : `${formatTime(budget.resets_at)} UTC`,
    "Refused": refused_calls === 0
      ? "no calls"
      : `${countOf(refused_calls, "call")} ${refused}, the last at ${formatTime(last_refused_at)} UTC`,
    "Created": `${formatTime(budget.created_at)} UTC`,
    "Updated": `${formatTime(budget.updated_at)} UTC`,
  }, { style, columns: terminal.stdout.columns });
}

function listRaises({ style, terminal }: CommandContext, raises: readonly BudgetRaise[]): string[] {
  if (raises.length === 0) return [];
  const table = renderTable(raises, [
    { title: "RAISE", cell: ({ extra_usd }) => formatAmount(extra_usd), align: "right" },
    { title: "UNTIL (UTC)", cell: ({ until }) => until === null ? "no end" : formatTime(until).slice(0, 16) },
    { title: "ADDED (UTC)", cell: ({ created_at }) => formatTime(created_at).slice(0, 16), drop: 1 },
    { title: "KEY", cell: ({ key_id }) => key_id ?? "-", drop: 2 },
    { title: "REASON", cell: ({ reason }) => reason ?? "-", cutTo: 6 },
  ], { columns: terminal.stdout.columns, style, hasUnicode: terminal.hasUnicode });
  return [table];
}
