import { PurserError } from "../../kernel/errors.ts";

/**
 * The token usage of one model call, normalized over all providers. Totals are inclusive: `inputTokens` includes the cache reads
 * and writes, `outputTokens` the reasoning, `cacheWriteTokens` the one-hour writes.
 */
export interface Usage {
  /** All input tokens, cached or not. */
  inputTokens: number;
  /** All output tokens, reasoning included. */
  outputTokens: number;
  /** The part of the input that was read from a cache. */
  cacheReadTokens: number;
  /** The part of the input that was written to a cache, of any lifetime. */
  cacheWriteTokens: number;
  /** The part of the cache writes with a lifetime of one hour (Anthropic). */
  cacheWrite1hTokens: number;
  /** The part of the output that was reasoning. */
  reasoningTokens: number;
}

/** The names of the fields of {@link Usage}. */
export const USAGE_FIELDS = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
  "reasoningTokens",
] as const satisfies readonly (keyof Usage)[];

/** Creates a usage of the given counts; missing counts are 0. */
export function usageOf(counts: Partial<Usage>): Usage {
  return {
    inputTokens: counts.inputTokens ?? 0,
    outputTokens: counts.outputTokens ?? 0,
    cacheReadTokens: counts.cacheReadTokens ?? 0,
    cacheWriteTokens: counts.cacheWriteTokens ?? 0,
    cacheWrite1hTokens: counts.cacheWrite1hTokens ?? 0,
    reasoningTokens: counts.reasoningTokens ?? 0,
  };
}

/** Returns the contradiction in a usage, as the end of a sentence, or undefined. */
export function faultOfUsage(usage: Usage): string | undefined {
  for (const field of USAGE_FIELDS) {
    const count = usage[field];
    if (!Number.isSafeInteger(count) || count < 0) return `${field} is ${count}, not a count of tokens`;
  }
  const cached = usage.cacheReadTokens + usage.cacheWriteTokens;
  if (cached > usage.inputTokens) {
    return `its cache reads and writes are ${cached} tokens of only ${usage.inputTokens} input tokens`;
  }
  if (usage.cacheWrite1hTokens > usage.cacheWriteTokens) {
    return `its one-hour cache writes are ${usage.cacheWrite1hTokens} tokens of only ${usage.cacheWriteTokens} written`;
  }
  if (usage.reasoningTokens > usage.outputTokens) {
    return `its reasoning is ${usage.reasoningTokens} tokens of only ${usage.outputTokens} output tokens`;
  }
  return undefined;
}

/**
 * Checks that every count is a safe integer of at least 0 and that no part is greater than its whole: a negative leaf would
 * lower the price. Throws `invalid`.
 */
export function checkUsage(usage: Usage): void {
  const fault = faultOfUsage(usage);
  if (fault) throw new PurserError("invalid", `Cannot take the token usage: ${fault}`);
}
