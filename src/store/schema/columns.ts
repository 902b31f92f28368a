import { customType } from "drizzle-orm/sqlite-core";

/** An INTEGER that fits a JS number: counts, times in milliseconds, flags. The drivers give bigint. */
export const int = customType<{ data: number; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: Number,
  toDriver: BigInt,
});

/** An INTEGER amount in nano-USD. */
export const nanoUsd = customType<{ data: bigint; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: BigInt,
});

/** An INTEGER that is 0 or 1. */
export const flag = customType<{ data: boolean; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: (value) => Number(value) !== 0,
  toDriver: (value) => (value ? 1n : 0n),
});

/** The columns that every rollup counts with. */
export const counters = () => ({
  modelCalls: int("model_calls").notNull(),
  unpricedCalls: int("unpriced_calls").notNull(),
  partlyPricedCalls: int("partly_priced_calls").notNull(),
  estimatedCalls: int("estimated_calls").notNull(),
  inputTokens: int("input_tokens").notNull(),
  outputTokens: int("output_tokens").notNull(),
  cacheReadTokens: int("cache_read_tokens").notNull(),
  cacheWriteTokens: int("cache_write_tokens").notNull(),
  reasoningTokens: int("reasoning_tokens").notNull(),
  totalTokens: int("total_tokens").notNull(),
  wholeUsd: nanoUsd("whole_usd").notNull(),
  restNanoUsd: nanoUsd("rest_nano_usd").notNull(),
});
