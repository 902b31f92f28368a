import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";

/** `purser agents remove NAME`. The API's response has no body, so `--json` prints nothing. */
export const agentsRemove: Command = {
  name: "agents remove",
  args: [arg("NAME", { live: "agent" })],
  summary: "Remove an agent; its sessions and costs stay",
  options: {},
  examples: [["purser agents remove researcher", ""]],
  needsDatabase: true,
  run: removeAgent,
};

async function removeAgent(ctx: CommandContext): Promise<void> {
  const name = readId(ctx);
  const { api } = await ctx.connect();
  await api.agents[":agent_id"].$delete({ param: { agent_id: idInPath(name) } });
  if (!ctx.isJson) ctx.print(`Removed agent ${name}; its sessions and costs stay`);
}
