import type { Command, CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { BUDGET_ARG, findBudgetId } from "./find_budget.ts";

/** `purser budgets remove BUDGET`. The API's response has no body, so `--json` prints nothing. */
export const budgetsRemove: Command = {
  name: "budgets remove",
  args: [BUDGET_ARG],
  summary: "Remove a budget and its raises",
  options: {},
  examples: [["purser budgets remove Day", ""]],
  needsDatabase: true,
  run: removeBudget,
};

async function removeBudget(ctx: CommandContext): Promise<void> {
  const budgetId = await findBudgetId(ctx);
  const { api } = await ctx.connect();
  await api.budgets[":budget_id"].$delete({ param: { budget_id: idInPath(budgetId) } });
  if (!ctx.isJson) {
    ctx.print(`Removed budget ${budgetId}; nothing is refused for it any more`);
  }
}
