import type { Command, CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { describeBudget } from "../../render/describe_budget.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { BUDGET_OPTIONS, readBudgetFields } from "./budget_options.ts";
import { BUDGET_ARG, findBudgetId } from "./find_budget.ts";

/** `purser budgets set BUDGET …` */
export const budgetsSet: Command = {
  name: "budgets set",
  args: [BUDGET_ARG],
  summary: "Change a budget",
  detail:
    "Changes only the given settings of a budget, which is named by its id, or by its name where one has it. The word none removes --agent, --session, --key, --each or --counts-from. To let " +
    "agents spend more for a while, raise the limit instead: purser budgets raise.",
  options: BUDGET_OPTIONS,
  examples: [
    ["purser budgets set Day --limit 80 --mode strict", ""],
    ["purser budgets set Trial --action refuse", "Enforce what was only watched"],
    ["purser budgets set Day --disabled", ""],
  ],
  needsDatabase: true,
  run: setBudget,
};

async function setBudget(ctx: CommandContext): Promise<void> {
  const changes = readBudgetFields(ctx.options, ctx.clock.now());
  if (Object.keys(changes).length === 0) {
    throw new UsageError(
      "Cannot change a budget without an option, such as --limit or --disabled",
      ctx.options.command,
    );
  }
  const budgetId = await findBudgetId(ctx);
  const { api } = await ctx.connect();
  await printAnswer(
    ctx,
    await api.budgets[":budget_id"].$patch({
      param: { budget_id: idInPath(budgetId) },
      json: changes,
    }),
    (changed) =>
      escapeText(`Changed budget ${changed.budget_id} ${changed.name}: ${describeBudget(changed)}`),
  );
}
