import type { SessionTree, TreeAgent } from "../../../contract/costs/session_trees.ts";
import { parseTotalUsd } from "../../../kernel/money.ts";
import type { CommandContext } from "../../command.ts";
import { formatAmounts, planColumn } from "../../render/format_cost.ts";
import { formatCount } from "../../render/format_values.ts";
import { renderTable } from "../../render/render_table.ts";

/** `purser sessions show ID --tree` */
export async function printSessionTree(ctx: CommandContext, param: { session_id: string }): Promise<void> {
  const { api } = await ctx.connect();
  const tree = await (await api.sessions[":session_id"].tree.$get({ param })).json();
  if (ctx.isJson) return ctx.print(JSON.stringify(tree));
  ctx.print(renderTree(tree, ctx));
}

/** Renders the tree: each line has an agent's own calls, and the cost of it with its sub-agents. */
export function renderTree(
  { session_id, root_session_id, agents, more_agents }: SessionTree,
  { layout }: Pick<CommandContext, "layout">,
): string {
  const leads = leadsOf(agents, layout.hasUnicode);
  const lines = agents.map((agent, index) => ({
    agent,
    name: leads[index]! + nameOf(agent, session_id),
    index,
  }));
  const nanoOf = ({ cost_usd }: { cost_usd: number | null }) => parseTotalUsd(cost_usd ?? 0);
  const amounts = formatAmounts(agents.flatMap((agent) => [nanoOf(agent), nanoOf(agent.with_subagents)]));
  const cost = (usd: number | null, index: number) => usd === null ? "no price" : amounts[index]!;
  const table = renderTable(lines, [
    { title: "AGENT", cell: ({ name }) => name, cutTo: 20 },
    { title: "CALLS", align: "right", cell: ({ agent }) => formatCount(agent.model_calls), drop: 1 },
    { title: "TOKENS", align: "right", cell: ({ agent }) => formatCount(agent.total_tokens), drop: 2 },
    { title: "COST", align: "right", cell: ({ agent, index }) => cost(agent.cost_usd, index * 2) },
    {
      title: "WITH SUB-AGENTS",
      align: "right",
      cell: ({ agent, index }) => cost(agent.with_subagents.cost_usd, index * 2 + 1),
    },
    ...planColumn(lines, ({ agent }) => parseTotalUsd(agent.with_subagents.plan_usd ?? 0)),
  ], layout);
  const notes = [
    ...more_agents > 0 ? [`${formatCount(more_agents)} other sub-agents have cost less.`] : [],
    ...root_session_id === session_id ? [] : [
      `This session is a part of the tree of ${root_session_id}: purser sessions show ${root_session_id} --tree`,
    ],
  ];
  return [table, ...notes].join("\n");
}

/** Names an agent; one with a session of its own also by that. */
function nameOf({ depth, session_id, agent_id, subagent, type }: TreeAgent, root: string): string {
  if (depth === 0) return "main agent";
  const kind = type ?? (subagent === null ? agent_id : "sub-agent");
  return [kind, subagent, ...session_id === root ? [] : [session_id]].filter(Boolean).join(" ");
}

/** Returns the lines in front of each agent, by which a tree is seen. */
function leadsOf(agents: readonly TreeAgent[], hasUnicode: boolean): string[] {
  const [branch, last, line] = hasUnicode ? ["├ ", "└ ", "│ "] : ["|- ", "`- ", "|  "];
  const isLast = (index: number) => {
    const { depth } = agents[index]!;
    const next = agents.slice(index + 1).find((agent) => agent.depth <= depth);
    return next === undefined || next.depth < depth;
  };
  const above: boolean[] = [];
  return agents.map(({ depth }, index) => {
    above[depth] = isLast(index);
    if (depth === 0) return "";
    const lines = above.slice(1, depth).map((ended) => ended ? " ".repeat(line!.length) : line!);
    return lines.join("") + (above[depth] ? last : branch);
  });
}
