import type { RuleTest } from "../../../alerts/mod.ts";
import type { Command, CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { postTest } from "../channels/channels_try.ts";
import { findRuleId, RULE_ARG } from "./find_rule.ts";

/** `purser alerts test RULE`. A file named `alerts_test.ts` would be taken for tests. */
export const alertsTry: Command = {
  name: "alerts test",
  args: [RULE_ARG],
  summary: "Send a test alert of a rule through every channel",
  detail: "Sent once to every channel, whatever its min_severity. Exit code 1 if any channel fails.",
  options: {},
  examples: [['purser alerts test "Daily limit"', ""]],
  needsDatabase: true,
  run: tryRule,
};

async function tryRule(ctx: CommandContext): Promise<number> {
  const ruleId = await findRuleId(ctx);
  const connection = await ctx.connect();
  const url = connection.api.alerts.rules[":rule_id"].test.$url({ param: { rule_id: idInPath(ruleId) } });
  return await postTest<RuleTest>(ctx, connection, url, ({ results }) => results);
}
