import { formatCost } from "./format_values.ts";

/** The parts of an agent that say what it may spend. */
export interface Budgeted {
  cost_budget_usd: number | null;
  budget_mode: string;
  allow_unpriced: boolean;
}

/** `$0.25 a run, strict`. */
export function describeBudget(agent: Budgeted): string {
  if (agent.cost_budget_usd === null) return "no budget";
  const unpriced = agent.allow_unpriced ? ", unpriced models allowed" : "";
  return `${formatCost(agent.cost_budget_usd)} a run, ${agent.budget_mode}${unpriced}`;
}
