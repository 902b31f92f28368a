import type { CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";

/** `purser agents remove NAME`. The API answers without a body, so `--json` prints nothing. */
export async function agentsRemove(ctx: CommandContext): Promise<void> {
  const name = readId(ctx);
  const { api } = await ctx.connect();
  await api.agents[":agent_id"].$delete({ param: { agent_id: idInPath(name) } });
  if (!ctx.isJson) ctx.print(`Removed agent ${name}; its sessions and costs stay`);
}
