import type { SessionTree, TreeAgent } from "../contract/costs/session_trees.ts";
import { NANO_PER_USD, type NanoUsd, toUsd } from "../kernel/money.ts";
import { type Store, toObjects } from "../store/mod.ts";
import { tagsOf } from "./cost_conditions.ts";
import type { Viewer } from "./scopes/mod.ts";
import { ENTRY_COUNTERS } from "./usage_sql.ts";

/*
 * The tree of a session: its main agent, and the sub-agents below it. A sub-agent has calls in the session itself, which its tags
 * tell apart, or a session of its own, whose calls name the root of their tree. Clients name sub-agents and their parents as they
 * like, so a tree may be told with a loop, or thousands of levels deep: such agents are shown below the main agent.
 */

const READ_ROOT =
  `SELECT root_session_id FROM calls WHERE session_id = ?1 ORDER BY at DESC, position DESC LIMIT 1`;

/** Returns the session at the root of the tree in which the newest call of a session counts: itself, unless it is a sub-agent's. */
export async function readRootSession(
  { store }: { store: Pick<Store, "read"> },
  sessionId: string,
): Promise<string> {
  const { rows } = await store.read({ sql: READ_ROOT, args: [sessionId] });
  return rows[0]?.[0] as string | null ?? sessionId;
}

const tag = (key: string) => `(${tagsOf("c")} ->> '${key}')`;
const entriesOf = (where: string, above: string) =>
  `SELECT session_id, agent_id, ${above} AS above, ${tag("subagent")} AS subagent, ${
    tag("subagent_of")
  } AS parent, ${tag("subagent_type")} AS type, at, position, ${ENTRY_COUNTERS} FROM calls c WHERE ${where}`;

const SUMS = [
  "model_calls",
  "unpriced_calls",
  "total_tokens",
  "whole_usd",
  "rest_nano_usd",
  "plan_whole_usd",
  "plan_rest_nano_usd",
] as const;

// The parent of a session of a run is the session of the run that has made it.
const ABOVE = `(SELECT p.session_id FROM runs r JOIN runs p ON p.run_id = r.parent_run_id
  WHERE r.run_id = c.run_id)`;
const READ = `SELECT e.session_id, min(e.agent_id) AS agent_id, e.subagent, max(e.parent) AS parent,
  max(e.type) AS type, min(e.at) AS first_at, min(e.position) AS first_position, min(e.above) AS above,
  ${SUMS.map((column) => `CAST(sum(e.${column}) AS BIGINT) AS ${column}`).join(", ")}
FROM (${entriesOf("c.session_id = ?1 AND c.root_session_id IS NULL", "CAST(NULL AS TEXT)")} UNION ALL ${
  entriesOf("c.root_session_id = ?1 AND (CAST(?2 AS TEXT) IS NULL OR c.agent_id = ?2)", ABOVE)
}) e GROUP BY e.session_id, e.subagent`;

type Row =
  & Record<typeof SUMS[number] | "first_at" | "first_position", bigint>
  & Record<"session_id" | "subagent" | "parent" | "type" | "above", string | null>
  & { agent_id: string };

interface Sums {
  calls: bigint;
  unpriced: bigint;
  tokens: bigint;
  nano: NanoUsd;
  plan: NanoUsd;
}

interface Node extends Pick<Row, "session_id" | "subagent" | "type" | "parent" | "above"> {
  agentId: string | null;
  own: Sums;
  all: Sums;
  children: Node[];
  firstAt: bigint;
  firstPosition: bigint;
}

/** The most sub-agents that are told one by one, and the most levels of them. */
const MAX_AGENTS = 1_000;
const MAX_DEPTH = 32;

/** Reads the tree of a session: what each of its agents has cost. A viewer of one agent gets no sessions of others. */
export async function readSessionTree(
  ctx: { store: Pick<Store, "read"> },
  sessionId: string,
  viewer: Pick<Viewer, "agentId">,
): Promise<SessionTree> {
  const [result, root_session_id] = await Promise.all([
    ctx.store.read({ sql: READ, args: [sessionId, viewer.agentId ?? null] }),
    readRootSession(ctx, sessionId),
  ]);
  const { root, left } = growTree(sessionId, toObjects<Row>(result));
  return { session_id: sessionId, root_session_id, agents: listAgents(root, 0), more_agents: left };
}

/** Returns the main agent of a session, with its sub-agents below those that have started them. */
function growTree(sessionId: string, rows: readonly Row[]): { root: Node; left: number } {
  const nodes = new Map<string, Node>();
  const keyOf = (session: string | null, subagent: string | null) => JSON.stringify([session, subagent]);
  const nodeOf = (session: string | null, subagent: string | null): Node => {
    const key = keyOf(session, subagent);
    const node = nodes.get(key) ?? newNode(session, subagent);
    nodes.set(key, node);
    return node;
  };
  const root = nodeOf(sessionId, null);
  const dearest = rows.toSorted((a, b) => Number(nanoOf(b) - nanoOf(a)) || Number(a.first_at - b.first_at));
  const told = dearest.filter(({ session_id, subagent }, index) =>
    index < MAX_AGENTS || (session_id === sessionId && subagent === null)
  );
  for (const row of told) {
    const { session_id, subagent, agent_id, parent, type, above } = row;
    if (subagent !== null) nodeOf(session_id, null);
    const node = nodeOf(session_id, subagent);
    Object.assign(node, { agentId: agent_id, parent, type, above });
    Object.assign(node, { firstAt: row.first_at, firstPosition: row.first_position });
    add(node.own, sumsOf(row));
  }
  const parentOf = ({ session_id, subagent, parent, above }: Node): Node => {
    if (subagent === null) return above === null ? root : nodes.get(keyOf(above, null)) ?? root;
    return nodes.get(keyOf(session_id, parent)) ?? nodes.get(keyOf(session_id, null))!;
  };
  for (const node of nodes.values()) {
    if (node !== root) (reachesRoot(node, root, parentOf) ? parentOf(node) : root).children.push(node);
  }
  sumUp(root);
  for (const row of dearest) if (!told.includes(row)) add(root.all, sumsOf(row));
  return { root, left: rows.length - told.length };
}

/** Returns whether the parents of an agent lead to the main agent, without a loop and by few enough levels. */
function reachesRoot(node: Node, root: Node, parentOf: (node: Node) => Node): boolean {
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    node = parentOf(node);
    if (node === root) return true;
  }
  return false;
}

const newNode = (session_id: string | null, subagent: string | null): Node => ({
  ...{ session_id, subagent, type: null, parent: null, above: null, agentId: null },
  ...{ own: noSums(), all: noSums(), children: [], firstAt: 0n, firstPosition: 0n },
});

const noSums = (): Sums => ({ calls: 0n, unpriced: 0n, tokens: 0n, nano: 0n, plan: 0n });

const nanoOf = ({ whole_usd, rest_nano_usd }: Row) => whole_usd * NANO_PER_USD + rest_nano_usd;

const sumsOf = (row: Row): Sums => ({
  calls: row.model_calls,
  unpriced: row.unpriced_calls,
  tokens: row.total_tokens,
  nano: nanoOf(row),
  plan: row.plan_whole_usd * NANO_PER_USD + row.plan_rest_nano_usd,
});

function add(sums: Sums, more: Sums): void {
  for (const name of Object.keys(sums) as (keyof Sums)[]) sums[name] += more[name];
}

function sumUp(node: Node): void {
  node.children.sort((a, b) => Number(a.firstAt - b.firstAt) || Number(a.firstPosition - b.firstPosition));
  add(node.all, node.own);
  for (const child of node.children) {
    sumUp(child);
    add(node.all, child.all);
  }
}

function listAgents(node: Node, depth: number): TreeAgent[] {
  const { session_id, subagent, type, agentId, own, all, children } = node;
  return [
    { depth, session_id, agent_id: agentId, subagent, type, ...toWire(own), with_subagents: toWire(all) },
    ...children.flatMap((child) => listAgents(child, depth + 1)),
  ];
}

const toWire = ({ calls, unpriced, tokens, nano, plan }: Sums) => ({
  model_calls: Number(calls),
  total_tokens: Number(tokens),
  cost_usd: calls > 0n && unpriced === calls ? null : toUsd(nano),
  ...(plan !== 0n && { plan_usd: toUsd(plan) }),
});
