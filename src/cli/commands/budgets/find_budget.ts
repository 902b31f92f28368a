import { PAGE_SIZES } from "../../../contract/limits.ts";
import { NAME_PATTERN } from "../../../kernel/ids.ts";
import { arg, type CommandContext } from "../../command.ts";
import { chooseByName } from "../../parse/choose_by_name.ts";

/** The argument of a command on a budget: its id, or its name where one budget has it. */
export const BUDGET_ARG = arg("BUDGET", { live: "budget" });

const BUDGET = { one: "a budget", many: "budgets", list: "purser budgets list" };

/** Returns the id of the budget that a command has as its argument: what begins with `bud_` is one, all else a name. */
export async function findBudgetId(ctx: CommandContext): Promise<string> {
  const text = ctx.args[0]!;
  if (text.startsWith("bud_") && NAME_PATTERN.test(text)) return text;
  const { api } = await ctx.connect();
  const list = async (query: { name?: string; limit: string }) =>
    (await (await api.budgets.$get({ query })).json()).map(({ budget_id, name }) => ({
      id: budget_id,
      name,
    }));
  const limit = String(PAGE_SIZES.budgets.max);
  const named = text === "" ? [] : await list({ name: text, limit });
  // Without one, the name may be misspelled.
  return chooseByName(text, named.length > 0 ? named : await list({ limit }), BUDGET, ctx.options.command);
}
