import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { formatCost } from "../../render/format_cost.ts";
import { formatTags } from "../../render/format_tags.ts";
import { formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { usageFields } from "../../render/render_usage.ts";

/** `purser agents show NAME` */
export const agentsShow: Command = {
  name: "agents show",
  args: [arg("NAME", { live: "agent" })],
  summary: "Show an agent, its usage and its cost",
  options: {},
  examples: [["purser agents show researcher", ""]],
  isReadOnly: true,
  run: showAgent,
};

async function showAgent(ctx: CommandContext): Promise<void> {
  const layout = { style: ctx.style, columns: ctx.terminal.stdout.columns };
  const param = { agent_id: idInPath(readId(ctx)) };
  const { api } = await ctx.connect();
  const answer = await api.agents[":agent_id"].$get({ param });
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
      "Tags": formatTags(agent.tags) || undefined,
      "Created": `${formatTime(agent.created_at)} UTC`,
      "Updated": `${formatTime(agent.updated_at)} UTC`,
    }, layout) + `\n\n${ctx.style.bold("Lifetime usage")}\n` +
    renderFields(usageFields(agent.token_usage), layout));
}

/** The fields of an agent that define its budget. */
interface Budgeted {
  cost_budget_usd: number | null;
  budget_mode: string;
  allow_unpriced: boolean;
}

/** Describes a budget: `$0.25 a run, strict`. */
export function describeBudget(agent: Budgeted): string {
  if (agent.cost_budget_usd === null) return "no budget";
  const unpriced = agent.allow_unpriced ? ", unpriced models allowed" : "";
  return `${formatCost(agent.cost_budget_usd)} a run, ${agent.budget_mode}${unpriced}`;
}
