import type { Command, CommandContext } from "../../command.ts";
import { formatCost } from "../../render/format_cost.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";

/** `purser agents list` */
export const agentsList: Command = {
  name: "agents list",
  args: [],
  summary: "List agents",
  options: {},
  examples: [["purser agents list", ""]],
  isReadOnly: true,
  run: listAgents,
};

async function listAgents(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  await printAnswer(ctx, await api.agents.$get({ query: {} }), (agents) => {
    if (agents.length === 0) return "No agents yet. Define one: purser agents set helper --model demo:echo";
    return renderTable(agents, [
      { title: "AGENT", cell: (agent) => agent.name, paint: (_, style) => style.bold },
      { title: "MODEL", cell: (agent) => agent.model, cutTo: 12 },
      {
        title: "BUDGET",
        align: "right",
        cell: (agent) => agent.cost_budget_usd === null ? "none" : formatCost(agent.cost_budget_usd),
      },
      { title: "MODE", cell: (agent) => agent.cost_budget_usd === null ? "" : agent.budget_mode, drop: 2 },
      { title: "STEPS", align: "right", cell: (agent) => String(agent.max_steps), drop: 3 },
      { title: "TOOLS", cell: (agent) => agent.tools.join(", "), cutTo: 8, drop: 1 },
    ], { columns: ctx.terminal.stdout.columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode });
  });
}
