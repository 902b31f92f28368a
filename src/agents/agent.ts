import type { Agent } from "../contract/agents.ts";
import type { BudgetMode } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { type NanoUsd, toUsd } from "../kernel/money.ts";

/** The definition of an agent, for the runner. */
export interface AgentDefinition {
  agentId: string;
  /** `provider:model`, or a model name that belongs to one provider. */
  model: string;
  systemPrompt: string;
  /** The cost limit of one run in nano-USD; null for none. */
  costBudgetNanoUsd: NanoUsd | null;
  budgetMode: BudgetMode;
  /** Accepts a budget although the model has no known price. */
  allowUnpriced: boolean;
  maxSteps: number;
  maxOutputTokens: number | null;
  tools: readonly string[];
}

/** Converts a definition to wire form, as the event log keeps it with each run. */
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

/** Converts a row to wire form. */
export function toAgent(row: AgentDefinition & { createdAt: number; updatedAt: number }): Agent {
  return { ...describeAgent(row), created_at: toIso(row.createdAt), updated_at: toIso(row.updatedAt) };
}
