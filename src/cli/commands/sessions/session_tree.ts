import type { CostEvent } from "../../../contract/usage.ts";
import { type NanoUsd, parseTotalUsd, toUsd } from "../../../kernel/money.ts";
import type { CommandContext } from "../../command.ts";
import { formatAmounts, planColumn } from "../../render/format_cost.ts";
import { formatCount } from "../../render/format_values.ts";
import { nextCursor } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";

/** A sub-agent of a session with its own calls, and with those of the sub-agents that it has started. */
interface AgentNode {
  /** Null for the main agent. */
  id: string | null;
  parent: string | null;
  type: string | null;
  own: Sums;
  all: Sums;
  children: AgentNode[];
  firstAt: string;
}

interface Sums {
  calls: number;
  unpriced: number;
  tokens: number;
  nano: NanoUsd;
  plan: NanoUsd;
}

/** `purser sessions show ID --tree` */
export async function printSessionTree(ctx: CommandContext, param: { session_id: string }): Promise<void> {
  const { api } = await ctx.connect();
  await api.sessions[":session_id"].$get({ param });
  const calls: CostEvent[] = [];
  let cursor: string | undefined;
  do {
    const answer = await api.sessions[":session_id"].costs.$get({ param, query: { cursor } });
    calls.push(...(await answer.json()).calls);
    cursor = nextCursor(answer);
  } while (cursor !== undefined);
  const root = growTree(calls);
  if (ctx.isJson) {
    return ctx.print(JSON.stringify({ session_id: calls[0]?.session_id ?? null, ...toWire(root) }));
  }
  ctx.print(renderTree(root, ctx));
}

const noSums = (): Sums => ({ calls: 0, unpriced: 0, tokens: 0, nano: 0n, plan: 0n });

function add(sums: Sums, { calls, unpriced, tokens, nano, plan }: Sums): void {
  sums.calls += calls;
  sums.unpriced += unpriced;
  sums.tokens += tokens;
  sums.nano += nano;
  sums.plan += plan;
}

/** Returns the main agent of a session, with its sub-agents below those that have started them. */
export function growTree(calls: readonly CostEvent[]): AgentNode {
  const nodes = new Map<string | null, AgentNode>();
  const nodeOf = (id: string | null): AgentNode => {
    let node = nodes.get(id);
    if (!node) {
      node = { id, parent: null, type: null, own: noSums(), all: noSums(), children: [], firstAt: "" };
      nodes.set(id, node);
    }
    return node;
  };
  const root = nodeOf(null);
  for (const { at, tags, cost_usd, plan_usd, total_tokens } of calls) {
    const node = nodeOf(tags?.subagent ?? null);
    node.parent ??= tags?.subagent_of ?? null;
    node.type ??= tags?.subagent_type ?? null;
    if (node.firstAt === "" || at < node.firstAt) node.firstAt = at;
    add(node.own, {
      calls: 1,
      unpriced: Number(cost_usd === null),
      tokens: total_tokens,
      nano: parseTotalUsd(cost_usd ?? 0),
      plan: parseTotalUsd(plan_usd ?? 0),
    });
  }
  for (const node of nodes.values()) {
    if (node !== root) (parentOf(node, nodes) ?? root).children.push(node);
  }
  sumUp(root);
  return root;
}

/** Returns the agent that has started a sub-agent; undefined where it is not known, or below the sub-agent itself. */
function parentOf(node: AgentNode, nodes: ReadonlyMap<string | null, AgentNode>): AgentNode | undefined {
  const parent = node.parent === null ? undefined : nodes.get(node.parent);
  const above = new Set<AgentNode>();
  for (let next = parent; next; next = next.parent === null ? undefined : nodes.get(next.parent)) {
    if (next === node) return undefined;
    if (above.has(next)) break;
    above.add(next);
  }
  return parent;
}

function sumUp(node: AgentNode): void {
  node.children.sort((a, b) => (a.firstAt < b.firstAt ? -1 : 1));
  add(node.all, node.own);
  for (const child of node.children) {
    sumUp(child);
    add(node.all, child.all);
  }
}

const usdOf = ({ calls, unpriced, nano }: Sums) => calls > 0 && unpriced === calls ? null : toUsd(nano);
const planUsdOf = ({ plan }: Sums) => plan === 0n ? {} : { plan_usd: toUsd(plan) };

function toWire({ id, type, own, all, children }: AgentNode): Record<string, unknown> {
  return {
    subagent: id,
    type,
    model_calls: own.calls,
    total_tokens: own.tokens,
    cost_usd: usdOf(own),
    ...planUsdOf(own),
    with_subagents: {
      model_calls: all.calls,
      total_tokens: all.tokens,
      cost_usd: usdOf(all),
      ...planUsdOf(all),
    },
    subagents: children.map(toWire),
  };
}

/** Renders the tree: each line has an agent's own calls, and the cost of it with its sub-agents. */
function renderTree(root: AgentNode, { layout }: Pick<CommandContext, "layout">): string {
  const { hasUnicode } = layout;
  const lines: { name: string; node: AgentNode }[] = [];
  const [branch, last, line] = hasUnicode ? ["├ ", "└ ", "│ "] : ["|- ", "`- ", "|  "];
  const visit = (node: AgentNode, lead: string, isLast: boolean) => {
    const isRoot = node === root;
    const name = isRoot ? "main agent" : `${node.type ?? "sub-agent"} ${node.id}`;
    lines.push({ name: isRoot ? name : lead + (isLast ? last : branch) + name, node });
    const below = isRoot ? "" : lead + (isLast ? " ".repeat(line!.length) : line);
    node.children.forEach((child, index) => visit(child, below, index === node.children.length - 1));
  };
  visit(root, "", true);
  const amounts = formatAmounts(lines.flatMap(({ node }) => [node.own.nano, node.all.nano]));
  const cost = (sums: Sums, index: number) =>
    sums.calls > 0 && sums.unpriced === sums.calls ? "no price" : amounts[index]!;
  return renderTable(lines, [
    { title: "AGENT", cell: ({ name }) => name, cutTo: 20 },
    { title: "CALLS", align: "right", cell: ({ node }) => formatCount(node.own.calls), drop: 1 },
    { title: "TOKENS", align: "right", cell: ({ node }) => formatCount(node.own.tokens), drop: 2 },
    { title: "COST", align: "right", cell: (row) => cost(row.node.own, lines.indexOf(row) * 2) },
    {
      title: "WITH SUB-AGENTS",
      align: "right",
      cell: (row) => cost(row.node.all, lines.indexOf(row) * 2 + 1),
    },
    ...planColumn(lines, ({ node }) => node.all.plan),
  ], layout);
}
