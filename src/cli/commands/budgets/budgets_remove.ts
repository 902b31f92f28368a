import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { findBudget } from "./find_budget.ts";

/** `purser budgets remove BUDGET`. The API's response has no body, so `--json` prints nothing. */
export const budgetsRemove: Command = {
  name: "budgets remove",
  args: [arg("BUDGET", { live: "budget" })],
  summary: "Remove a budget and its raises, by its id or name",
  options: {},
  examples: [["purser budgets remove Day", ""]],
  needsDatabase: true,
  run: removeBudget,
};

async function removeBudget(ctx: CommandContext): Promise<void> {
  const connection = await ctx.connect();
  const { budget_id, name } = await findBudget(connection, ctx.args[0]!);
  await connection.api.budgets[":budget_id"].$delete({ param: { budget_id: idInPath(budget_id) } });
  if (!ctx.isJson) {
    ctx.print(escapeText(`Removed budget ${budget_id} ${name}; nothing is refused for it any more`));
  }
}
