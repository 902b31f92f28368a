import { asc, eq } from "drizzle-orm";
import { PurserError } from "../kernel/errors.ts";
import { type Query, type Store, tables } from "../store/mod.ts";
import { type AgentDefinition, toAgent } from "./agent.ts";
import type { Agent } from "../contract/agents.ts";

const { agents } = tables;

async function readAgent(query: Query, agentId: string) {
  const [row] = await query.select().from(agents).where(eq(agents.agentId, agentId));
  if (!row) throw new PurserError("not_found", `Cannot find agent ${agentId}`);
  return row;
}

/** One agent in wire form. Throws `not_found`. */
export async function getAgent(ctx: { query: Query }, agentId: string): Promise<Agent> {
  return toAgent(await readAgent(ctx.query, agentId));
}

/** One agent as the runner needs it. Throws `not_found`. */
export function getAgentDefinition(ctx: { query: Query }, agentId: string): Promise<AgentDefinition> {
  return readAgent(ctx.query, agentId);
}

/** All agents by name. */
export async function listAgents(ctx: { query: Query }): Promise<Agent[]> {
  return (await ctx.query.select().from(agents).orderBy(asc(agents.agentId))).map(toAgent);
}

/** Forgets a definition; the agent's sessions and its part of the ledger stay. Throws `not_found`. */
export async function removeAgent(ctx: { store: Store; query: Query }, agentId: string): Promise<void> {
  // Before the write, whose answer may be lost: what is read with it may be the state after it.
  await readAgent(ctx.query, agentId);
  await ctx.store.write([{ sql: "DELETE FROM agents WHERE agent_id = ?", args: [agentId] }]);
}
