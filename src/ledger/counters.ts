import type { TokenUsage } from "../contract/usage.ts";
import type { NanoUsd } from "../kernel/money.ts";
import { toUsd } from "../kernel/money.ts";
import type { SqlValue } from "../store/mod.ts";

/** The counters of every rollup. Totals are inclusive: input includes cache, output includes reasoning. */
export interface Counters {
  modelCalls: number;
  unpricedCalls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  totalTokens: number;
  costNanoUsd: NanoUsd;
}

/** Returns counters of zero calls. */
export function noCounters(): Counters {
  return {
    modelCalls: 0,
    unpricedCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    totalTokens: 0,
    costNanoUsd: 0n,
  };
}

const NANO_PER_USD = 1_000_000_000n;

/** Converts the values of `COUNTER_SUMS`, which are null without any row. */
export function toCounters(values: readonly SqlValue[]): Counters {
  const [modelCalls, unpricedCalls, , , input, output, cacheRead, cacheWrite, reasoning, total] = values.map(
    Number,
  );
  return {
    modelCalls: modelCalls!,
    unpricedCalls: unpricedCalls!,
    inputTokens: input!,
    outputTokens: output!,
    cacheReadTokens: cacheRead!,
    cacheWriteTokens: cacheWrite!,
    reasoningTokens: reasoning!,
    totalTokens: total!,
    costNanoUsd: toBigInt(values[10]) * NANO_PER_USD + toBigInt(values[11]),
  };
}

const toBigInt = (value: SqlValue | undefined) => typeof value === "bigint" ? value : 0n;

/** Returns the cost of the priced calls in USD; null if there are calls and none has a price. */
export function costUsd(
  counters: Pick<Counters, "modelCalls" | "unpricedCalls" | "costNanoUsd">,
): number | null {
  const nothingPriced = counters.modelCalls > 0 && counters.unpricedCalls === counters.modelCalls;
  return nothingPriced ? null : toUsd(counters.costNanoUsd);
}

/** Converts counters to wire form. */
export function toTokenUsage(counters: Counters, model: string | null): TokenUsage {
  return {
    input_tokens: counters.inputTokens,
    output_tokens: counters.outputTokens,
    total_tokens: counters.totalTokens,
    cost_usd: costUsd(counters),
    model,
    cache_read_tokens: counters.cacheReadTokens,
    cache_write_tokens: counters.cacheWriteTokens,
    reasoning_tokens: counters.reasoningTokens,
    model_calls: counters.modelCalls,
    unpriced_calls: counters.unpricedCalls,
  };
}
