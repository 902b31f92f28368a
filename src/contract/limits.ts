/** Every limit and default of the wire that more than one file needs, once. */

/** The most that one reported call may cost, in USD. */
export const MAX_CALL_USD = 1_000_000;

/** The cooldown of an alert rule that names none. */
export const DEFAULT_COOLDOWN_SECONDS = 3_600;

/** What an agent has where its definition names no value. */
export const AGENT_DEFAULTS = {
  systemPrompt: "",
  costBudgetNanoUsd: null,
  budgetMode: "stop",
  allowUnpriced: false,
  maxSteps: 20,
  maxOutputTokens: null,
  tools: [],
} as const;

/** The most characters that the name of an environment has. */
export const MAX_ENVIRONMENT_NAME = 200;
