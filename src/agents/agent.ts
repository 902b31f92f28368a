import type { Agent } from "../contract/agents.ts";
import type { BudgetMode } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { type NanoUsd, toUsd } from "../kernel/money.ts";

/** An agent as the runner needs it. */
export interface AgentDefinition {
  agentId: string;
  /** `provider:model`, or a model name whose provider is clear. */
  model: string;
  systemPrompt: string;
  /** The most that one run may cost, in nano-USD; null for no limit. */
  costBudgetNanoUsd: NanoUsd | null;
  budgetMode: BudgetMode;
  /** Whether a budget is accepted although the model has no known price. */
  allowUnpriced: boolean;
  maxSteps: number;
  maxOutputTokens: number | null;
  tools: readonly string[];
}

/** The wire form of a definition, as the event log keeps it with each run. */
export function describeAgent(agent: AgentDefinition): Omit<Agent, "created_at" | "updated_at"> {
  return {
    agent_id: agent.agentId,
    name: agent.agentId,
    model: agent.model,
    system_prompt: agent.systemPrompt,
    cost_budget_usd: agent.costBudgetNanoUsd === null ? null : toUsd(agent.costBudgetNanoUsd),
    budget_mode: agent.budgetMode,
    allow_unpriced: agent.allowUnpriced,
    max_steps: agent.maxSteps,
    max_output_tokens: agent.maxOutputTokens,
    tools: [...agent.tools],
  };
}

/** The wire form of a row. */
export function toAgent(row: AgentDefinition & { createdAt: number; updatedAt: number }): Agent {
  return { ...describeAgent(row), created_at: toIso(row.createdAt), updated_at: toIso(row.updatedAt) };
}
