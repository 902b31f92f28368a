import type { Usage } from "../pricing/mod.ts";

/** The counts of a call that are columns of the ledger. */
export const USAGE_COLUMNS = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
  "reasoningTokens",
] as const satisfies readonly (keyof Usage)[];

export type UsageCounts = Record<typeof USAGE_COLUMNS[number], number>;
