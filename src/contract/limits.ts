/** Every limit and default of the wire that more than one file needs, once. */

/** The maximum cost of one reported call, in USD. */
export const MAX_CALL_USD = 1_000_000;

/** The default cooldown of an alert rule. */
export const DEFAULT_COOLDOWN_SECONDS = 3_600;

/** The defaults of an agent's definition. */
export const AGENT_DEFAULTS = {
  systemPrompt: "",
  costBudgetNanoUsd: null,
  budgetMode: "stop",
  allowUnpriced: false,
  maxSteps: 20,
  maxOutputTokens: null,
  tools: [],
} as const;

/** The limits of an agent's definition, in requests and in snapshots. */
export const AGENT_LIMITS = { maxSteps: 1000, maxOutputTokens: 10_000_000, maxTools: 128 } as const;

/** The maximum length of an environment's name, in characters. */
export const MAX_ENVIRONMENT_NAME = 200;

/**
 * A character that is not a control character, as a pattern that means the same in every language's regular expressions:
 * these differ in `\p{…}`, in flags and in what a character is, and published schemas are read by all of them.
 */
export const PRINTABLE = "[^\\x00-\\x1f\\x7f-\\x9f]";

/**
 * A display name: 1 to 200 characters, no control characters, no lone surrogates, which not every database driver
 * preserves.
 */
export const LABEL_PATTERN = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/** `LABEL_PATTERN` as JSON Schema. JSON in UTF-8 can't contain a lone surrogate. */
export const LABEL_SCHEMA = { minLength: 1, maxLength: 200, pattern: `^${PRINTABLE}*$` } as const;
