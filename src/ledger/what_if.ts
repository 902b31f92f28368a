import type { CostRow, WhatIf } from "../contract/costs.ts";
import { divideHalfEven, type NanoUsd, toUsd } from "../kernel/money.ts";
import type { Rates } from "../pricing/mod.ts";

/**
 * Prices the usage of cost rows at the rates of another model. Rows are sums over many calls, so the rates of the first
 * tier apply to all of their tokens.
 */
export function priceRows(rows: readonly CostRow[], rates: Rates): WhatIf["rows"] {
  return rows.map((row) => {
    const cost = priceRow(row, rates);
    return { ...row, what_if_cost_usd: cost === null ? null : toUsd(cost) };
  });
}

/** Returns the cost of a row at some rates; null where the model has no output price. */
function priceRow(row: CostRow, { tiers: [tier] }: Rates): NanoUsd | null {
  const { input, output, reasoning, cacheRead, cacheWrite, request = 0n } = tier!;
  if (row.output_tokens > 0 && (output === null || reasoning === null)) return null;
  const uncached = row.input_tokens - row.cache_read_tokens - row.cache_write_tokens;
  const picoUsd = BigInt(uncached) * input + BigInt(row.cache_read_tokens) * cacheRead +
    BigInt(row.cache_write_tokens) * cacheWrite + BigInt(row.model_calls) * request +
    BigInt(row.output_tokens - row.reasoning_tokens) * (output ?? 0n) +
    BigInt(row.reasoning_tokens) * (reasoning ?? 0n);
  return divideHalfEven(picoUsd, 1000n);
}

/** Lists in sentences what the price of these rows at other rates can't know. */
export function whatIfNotes(rows: readonly CostRow[], rates: Rates): string[] {
  const sum = (name: "unpriced_calls" | "partly_priced_calls" | "cache_read_tokens" | "cache_write_tokens") =>
    rows.reduce((total, row) => total + row[name], 0);
  const tier = rates.tiers[0]!;
  const longContext = rates.tiers[1]?.aboveInputTokens;
  const notes: [applies: boolean, note: string][] = [
    [
      true,
      `The rates are those of ${rates.source} as of now, at the standard service tier, for calls of any time`,
    ],
    [true, "The tokens are those that were used: another model counts and answers differently"],
    [
      true,
      "Audio and images count as text, and searches and other tools as nothing: totals don't keep them apart",
    ],
    [
      longContext !== undefined,
      `Rates for calls of more than ${longContext} input tokens are left out: totals don't keep the length of calls`,
    ],
    [
      sum("cache_read_tokens") > 0 && tier.cacheRead === tier.input,
      "The model has no lower rate for cache reads: they count as other input",
    ],
    [
      sum("cache_write_tokens") > 0 && tier.cacheWrite1h !== tier.cacheWrite,
      "All cache writes count as those of the shorter lifetime: totals don't keep them apart",
    ],
    [
      rates.tiers.some(({ output, reasoning }) => output === null || reasoning === null),
      "The model has no rate for output: what has output has no cost",
    ],
    [
      sum("unpriced_calls") > 0,
      "Calls without a known price are part of this cost, and not of the actual one",
    ],
    [sum("partly_priced_calls") > 0, "The actual cost leaves out parts of calls that have no known price"],
  ];
  return notes.flatMap(([applies, note]) => applies ? [note] : []);
}
