import { z } from "@hono/zod-openapi";
import { AgentId, CostUsd, Count, PlanUsd, SessionId } from "../parts.ts";

/** The wire schema of a session with its sub-agents. */

const sums = {
  model_calls: Count,
  total_tokens: Count,
  cost_usd: CostUsd.openapi({
    description:
      "USD, of the calls with a known price; null where there were calls and none has one, 0 without calls",
  }),
  plan_usd: PlanUsd.optional(),
};

export const TreeAgent = z.object({
  depth: Count.openapi({
    description: "0 for the main agent; the agent above is the last one before with a depth less",
  }),
  session_id: SessionId.nullable().openapi({
    description: "Its session: that of the main agent, or one of its own; null for calls without a session",
  }),
  agent_id: AgentId.nullable().openapi({ description: "Null before its first call" }),
  subagent: z.string().nullable().openapi({
    description: "Its id in that session; null for the main agent of the session",
    example: "a71802fcc805be9c2",
  }),
  type: z.string().nullable().openapi({ description: "Its kind, such as `explore`, if it is known" }),
  ...sums,
  with_subagents: z.object(sums).openapi({ description: "The same with the agents below it" }),
}).openapi("TreeAgent");
export type TreeAgent = z.infer<typeof TreeAgent>;

export const SessionTree = z.object({
  session_id: SessionId,
  root_session_id: SessionId.openapi({
    description:
      "The session at the root of the tree in which its newest call counts: itself, unless it is a sub-agent's",
  }),
  agents: z.array(TreeAgent).openapi({
    description:
      "The main agent, and after each agent those that it has started, by the times of their first calls",
  }),
  more_agents: Count.openapi({
    description: "Number of other sub-agents, which have cost less; the sums of the main agent have theirs",
  }),
}).openapi("SessionTree");
export type SessionTree = z.infer<typeof SessionTree>;
