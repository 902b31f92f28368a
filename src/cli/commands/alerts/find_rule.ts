import { NAME_PATTERN } from "../../../kernel/ids.ts";
import { arg, type CommandContext } from "../../command.ts";
import { chooseByName } from "../../parse/choose_by_name.ts";

/** The argument of a command on a rule: its id, or its name where one rule has it. */
export const RULE_ARG = arg("RULE", { live: "rule" });

const RULE = { one: "an alert rule", many: "rules", list: "purser alerts list" };

/**
 * Returns the id of the rule that a command has as its argument. What begins with `rule_` is an id; anything else is looked
 * up as a name, exactly. The API knows rules by their ids alone.
 */
export async function findRuleId(ctx: CommandContext): Promise<string> {
  const text = ctx.args[0]!;
  if (text.startsWith("rule_") && NAME_PATTERN.test(text)) return text;
  const { api } = await ctx.connect();
  const rules = await (await api.alerts.rules.$get({ query: {} })).json();
  const named = rules.map(({ rule_id, name }) => ({ id: rule_id, name }));
  return chooseByName(text, named, RULE, ctx.options.command);
}
