import type { CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { formatTime } from "../../render/format_values.ts";
import { describeBudget } from "../../render/describe_agent.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { usageFields } from "../../render/render_usage.ts";

/** `purser agents show NAME` */
export async function agentsShow(ctx: CommandContext): Promise<void> {
  const layout = { style: ctx.style, columns: ctx.terminal.stdout.columns };
  const { api } = await ctx.connect();
  const answer = await api.agents[":agent_id"].$get({ param: { agent_id: idInPath(readId(ctx)) } });
  await printAnswer(ctx, answer, (agent) =>
    renderFields({
      "Agent": agent.name,
      "Model": agent.model,
      "System prompt": agent.system_prompt || "none",
      "Budget": describeBudget(agent),
      "Max steps": String(agent.max_steps),
      "Max output": agent.max_output_tokens === null
        ? "no limit"
        : `${agent.max_output_tokens} tokens a call`,
      "Tools": agent.tools.join(", ") || "none",
      "Created": `${formatTime(agent.created_at)} UTC`,
      "Updated": `${formatTime(agent.updated_at)} UTC`,
    }, layout) + `\n\n${ctx.style.bold("In its lifetime")}\n` +
    renderFields(usageFields(agent.token_usage), layout));
}
