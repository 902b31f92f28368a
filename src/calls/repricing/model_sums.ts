import type { RepricedModel } from "../../contract/repricings.ts";
import { NANO_PER_USD, type NanoUsd, toUsd } from "../../kernel/money.ts";
import type { SqlValue, tables } from "../../store/mod.ts";

/** The sums of a repricing over the calls of one model. */
export interface ModelSums {
  provider: string;
  model: string;
  calls: number;
  changedCalls: number;
  before: PricedSum;
  after: PricedSum;
}

/** Calls and their cost, before or after. */
export interface PricedSum {
  unpricedCalls: number;
  partlyPricedCalls: number;
  costNanoUsd: NanoUsd;
}

const nothing = (): PricedSum => ({ unpricedCalls: 0, partlyPricedCalls: 0, costNanoUsd: 0n });

/** Returns the sums of no calls. */
export const noSums = (provider: string, model: string): ModelSums => ({
  provider,
  model,
  calls: 0,
  changedCalls: 0,
  before: nothing(),
  after: nothing(),
});

/** The price of a call, as far as sums count it. */
export interface CallPrice {
  costNanoUsd: NanoUsd | null;
  unpricedParts?: readonly string[] | undefined;
}

/** Adds a call to the sums. */
export function addCall(
  sums: ModelSums,
  call: { isChanged: boolean; before: CallPrice; after: CallPrice },
): void {
  sums.calls++;
  if (call.isChanged) sums.changedCalls++;
  addPrice(sums.before, call.before);
  addPrice(sums.after, call.after);
}

function addPrice(sum: PricedSum, { costNanoUsd, unpricedParts }: CallPrice): void {
  if (costNanoUsd === null) sum.unpricedCalls++;
  else sum.costNanoUsd += costNanoUsd;
  if (unpricedParts) sum.partlyPricedCalls++;
}

/** Adds up the sums of all models. */
export function addUp(models: Iterable<ModelSums>): ModelSums {
  const total = noSums("", "");
  for (const { calls, changedCalls, before, after } of models) {
    total.calls += calls;
    total.changedCalls += changedCalls;
    for (const [sum, more] of [[total.before, before], [total.after, after]] as const) {
      sum.unpricedCalls += more.unpricedCalls;
      sum.partlyPricedCalls += more.partlyPricedCalls;
      sum.costNanoUsd += more.costNanoUsd;
    }
  }
  return total;
}

/** Converts sums to wire form; a cost is null if there are calls and none has a price. */
export function toWireSums(sums: ModelSums): Omit<RepricedModel, "provider" | "model"> {
  const { calls, changedCalls, before, after } = sums;
  const cost = (sum: PricedSum) => calls > 0 && sum.unpricedCalls === calls ? null : toUsd(sum.costNanoUsd);
  return {
    calls,
    changed_calls: changedCalls,
    unpriced_calls_before: before.unpricedCalls,
    unpriced_calls_after: after.unpricedCalls,
    partly_priced_calls_before: before.partlyPricedCalls,
    partly_priced_calls_after: after.partlyPricedCalls,
    cost_usd_before: cost(before),
    cost_usd_after: cost(after),
  };
}

/** The columns of the sums in `repricing_models`, after its key. */
export const SUM_COLUMNS = [
  "calls",
  "changed_calls",
  "unpriced_before",
  "unpriced_after",
  "partly_priced_before",
  "partly_priced_after",
  "whole_usd_before",
  "rest_nano_usd_before",
  "whole_usd_after",
  "rest_nano_usd_after",
] as const;

/** Returns the values of `SUM_COLUMNS`. */
export function toSumValues({ calls, changedCalls, before, after }: ModelSums): SqlValue[] {
  return [
    calls,
    changedCalls,
    before.unpricedCalls,
    after.unpricedCalls,
    before.partlyPricedCalls,
    after.partlyPricedCalls,
    before.costNanoUsd / NANO_PER_USD,
    before.costNanoUsd % NANO_PER_USD,
    after.costNanoUsd / NANO_PER_USD,
    after.costNanoUsd % NANO_PER_USD,
  ];
}

/** Converts a row of `repricing_models`. */
export function toModelSums(row: typeof tables.repricingModels.$inferSelect): ModelSums {
  return {
    provider: row.provider,
    model: row.model,
    calls: row.calls,
    changedCalls: row.changedCalls,
    before: {
      unpricedCalls: row.unpricedBefore,
      partlyPricedCalls: row.partlyPricedBefore,
      costNanoUsd: row.wholeUsdBefore * NANO_PER_USD + row.restNanoUsdBefore,
    },
    after: {
      unpricedCalls: row.unpricedAfter,
      partlyPricedCalls: row.partlyPricedAfter,
      costNanoUsd: row.wholeUsdAfter * NANO_PER_USD + row.restNanoUsdAfter,
    },
  };
}
