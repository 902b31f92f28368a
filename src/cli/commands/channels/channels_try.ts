import type { TestResult } from "../../../delivery/mod.ts";
import type { CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { tryChannels } from "../../try_channels.ts";

/** `purser channels test NAME` */
export async function channelsTest(ctx: CommandContext): Promise<number> {
  const name = readId(ctx);
  const connection = await ctx.connect();
  const url = connection.api.channels[":name"].test.$url({ param: { name: idInPath(name) } });
  return await tryChannels<TestResult>(ctx, connection, url, (result) => [result]);
}
