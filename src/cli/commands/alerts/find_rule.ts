import { NAME_PATTERN } from "../../../kernel/ids.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { nearestName } from "../../../kernel/text.ts";
import { arg, type CommandContext } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** The argument of a command on a rule: its id, or its name where one rule has it. */
export const RULE_ARG = arg("RULE", { live: "rule" });

/** The number of ids that the refusal of an ambiguous name lists. */
const MAX_LISTED = 10;

/**
 * Returns the id of the rule that a command has as its argument. What begins with `rule_` is an id; anything else is looked
 * up as a name, exactly. The API knows rules by their ids alone.
 */
export async function findRuleId(ctx: CommandContext): Promise<string> {
  const text = ctx.args[0]!;
  if (text.startsWith("rule_") && NAME_PATTERN.test(text)) return text;
  const { api } = await ctx.connect();
  const rules = await (await api.alerts.rules.$get({ query: {} })).json();
  const ids = rules.filter(({ name }) => name === text).map(({ rule_id }) => rule_id);
  if (ids.length === 1) return ids[0]!;
  if (ids.length > 1) {
    const more = ids.length > MAX_LISTED ? ` and ${ids.length - MAX_LISTED} more` : "";
    throw new UsageError(
      `Cannot use the name ${JSON.stringify(text)}: ${ids.length} rules have it; give the id of one: ` +
        escapeText(ids.slice(0, MAX_LISTED).join(", ")) + more,
      ctx.options.command,
    );
  }
  const near = nearestName(text, rules.map(({ name }) => name));
  throw new PurserError(
    "not_found",
    `Cannot find an alert rule named ${JSON.stringify(text)}; ${
      near === undefined ? "purser alerts list shows all" : `did you mean ${JSON.stringify(near)}?`
    }`,
  );
}
