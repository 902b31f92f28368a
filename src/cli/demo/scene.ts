import type { RuleInput } from "../../alerts/mod.ts";
import type { BudgetInput } from "../../contract/budgets/budgets.ts";
import type { Tags } from "../../contract/tags/tags.ts";
import type { Scope } from "../../contract/values.ts";
import company from "./company.json" with { type: "json" };

/** A tool call of an answer, and its result. `#` stands for the number of the task. */
export interface ToolUse {
  tool: string;
  input: Record<string, string>;
  result: Record<string, string | number | boolean>;
}

/** Hours of the day (UTC), and the sessions that begin in each of them, on average. */
type Sessions = readonly (readonly [from: number, to: number, sessions: number])[];

/** The fewest and the most. */
type Range = readonly [number, number];

/** An agent of the demo. */
export interface DemoAgent {
  id: string;
  model: string;
  systemPrompt: string;
  tags: Tags;
  /** The name of the key of its calls. */
  key?: string;
  sessions: { weekday: Sessions; weekend: Sessions };
  /** The share of its sessions that Purser runs itself, in the last days; the calls of the others are reported. */
  runShare: number;
  /** The calls of a session. */
  calls: Range;
  /** The tokens of the first input, of the growth with each step, and of an answer. */
  input: Range;
  growth: Range;
  output: Range;
  /** The share of reasoning in its answers, and of the input that the step before has cached. */
  reasoning: number;
  cached: number;
  /** The tasks that it is given again and again. */
  tasks: readonly { ask: string; uses: readonly ToolUse[]; answer: string }[];
}

/** The company of the demo: its agents, the work that they do and when, and the keys that they use. */
export const COMPANY = company as unknown as {
  agents: readonly DemoAgent[];
  /** The model of the calls whose price is not known: it runs on a machine of the company. */
  unpriced: { provider: string; model: string };
  keys: readonly { name: string; scopes: readonly Scope[]; agentId?: string; days?: number }[];
  /** The key that is revoked after a week, when another one has taken its place. */
  revokedKey: string;
  rules: readonly RuleInput[];
  /** Each may name a key. */
  budgets: readonly (BudgetInput & { key?: string })[];
};

/** Returns an agent of the demo. */
export function agentOf(id: string): DemoAgent {
  return COMPANY.agents.find((agent) => agent.id === id)!;
}
