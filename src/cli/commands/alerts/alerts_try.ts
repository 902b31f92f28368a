import type { RuleTest } from "../../../alerts/mod.ts";
import type { CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { tryChannels } from "../../try_channels.ts";

/** `purser alerts test RULE`. Not called `alerts_test.ts`, which would be a file of tests. */
export async function alertsTest(ctx: CommandContext): Promise<number> {
  const ruleId = readId(ctx);
  const connection = await ctx.connect();
  const url = connection.api.alerts.rules[":rule_id"].test.$url({ param: { rule_id: idInPath(ruleId) } });
  return await tryChannels<RuleTest>(ctx, connection, url, ({ results }) => results);
}
