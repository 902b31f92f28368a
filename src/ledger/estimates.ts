import type { CostRow } from "../contract/costs.ts";
import type { Caching, CachingRow } from "../contract/costs/caching.ts";
import type { WhatIf } from "../contract/costs/what_if.ts";
import { divideHalfEven, type NanoUsd, toUsd } from "../kernel/money.ts";
import type { Rates } from "../pricing/mod.ts";

/** A sentence on what an estimate from totals can't know, where it applies. */
type Note = [applies: boolean, text: string];

const textsOf = (notes: readonly Note[]) => notes.flatMap(([applies, text]) => applies ? [text] : []);

const ONE_LIFETIME = "All cache writes count as those of the shorter lifetime: totals don't keep them apart";

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
  const notes: Note[] = [
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
      ONE_LIFETIME,
    ],
    [
      rates.tiers.some(({ output, reasoning }) => output === null || reasoning === null),
      "The model has no rate for output: what has output has no cost",
    ],
    [
      sum("unpriced_calls") > 0,
      "Calls without a known price are part of this cost, and not of the actual one",
    ],
    [
      rows.some(({ plan_usd }) => plan_usd),
      "Calls that a plan pays for are part of this cost, and not of the actual one",
    ],
    [sum("partly_priced_calls") > 0, "The actual cost leaves out parts of calls that have no known price"],
  ];
  return textsOf(notes);
}

/** The field that groups the rows of a report on caching. */
export type CachingGroup = "agent" | "model" | "provider";

/** The tokens of a row or a group, and the amounts that are known. */
interface Sums {
  input: number;
  reads: number;
  writes: number;
  saved: NanoUsd | null;
  possible: NanoUsd | null;
}

type Tokens = Pick<CostRow, "input_tokens" | "cache_read_tokens" | "cache_write_tokens">;

/**
 * Returns what caches saved on the tokens of a row at some rates, in nano-USD, and what they could save at most on the
 * rest of its input.
 */
export function savingsOf(
  { input_tokens, cache_read_tokens, cache_write_tokens }: Tokens,
  { tiers: [tier] }: Rates,
): { saved: NanoUsd; possible: NanoUsd } {
  const { input, cacheRead, cacheWrite } = tier!;
  const [reads, writes] = [BigInt(cache_read_tokens), BigInt(cache_write_tokens)];
  const rest = BigInt(input_tokens) - reads - writes;
  return {
    saved: divideHalfEven(reads * (input - cacheRead) - writes * (cacheWrite - input), 1000n),
    possible: divideHalfEven(rest * (input - cacheRead), 1000n),
  };
}

/** Sums rows of costs by model into groups, the one with the most input first. */
export function describeCaching(
  rows: readonly CostRow[],
  groupBy: CachingGroup,
  ratesOf: (provider: string, model: string) => Rates | null,
): Omit<Caching, "from" | "to"> {
  const all = rows.map((row) => {
    const rates = ratesOf(row.provider!, row.model!);
    const { saved = null, possible = null } = rates ? savingsOf(row, rates) : {};
    return { row, sums: sumsOf(row, saved, possible), hasRates: rates !== null };
  });
  const groups = Map.groupBy(all, ({ row }) => JSON.stringify(keyOf(row, groupBy)));
  const described = [...groups.values()].map((members) => ({
    ...keyOf(members[0]!.row, groupBy),
    ...toWire(members.map(({ sums }) => sums).reduce(add)),
  }));
  return {
    ...toWire(
      all.map(({ sums }) => sums).reduce(add, { input: 0, reads: 0, writes: 0, saved: null, possible: null }),
    ),
    rows: described.sort((a, b) => b.input_tokens - a.input_tokens),
    notes: notesOf(all),
  };
}

function keyOf({ agent_id, provider, model }: CostRow, groupBy: CachingGroup): Partial<CachingRow> {
  if (groupBy === "agent") return { agent_id };
  return groupBy === "provider" ? { provider } : { provider, model };
}

const sumsOf = (row: Tokens, saved: NanoUsd | null, possible: NanoUsd | null): Sums => ({
  input: row.input_tokens,
  reads: row.cache_read_tokens,
  writes: row.cache_write_tokens,
  saved,
  possible,
});

const plus = (a: NanoUsd | null, b: NanoUsd | null) => a === null ? b : b === null ? a : a + b;

const add = (a: Sums, b: Sums): Sums => ({
  input: a.input + b.input,
  reads: a.reads + b.reads,
  writes: a.writes + b.writes,
  saved: plus(a.saved, b.saved),
  possible: plus(a.possible, b.possible),
});

const usdOf = (amount: NanoUsd | null) => amount === null ? null : toUsd(amount);

const toWire = ({ input, reads, writes, saved, possible }: Sums) => ({
  input_tokens: input,
  cache_read_tokens: reads,
  cache_write_tokens: writes,
  hit_rate: input === 0 ? null : Math.round(reads / input * 10_000) / 10_000,
  saved_usd: usdOf(saved),
  possible_usd: usdOf(possible),
});

function notesOf(rows: readonly { row: CostRow; hasRates: boolean }[]): string[] {
  const notes: Note[] = [
    [rows.length > 0, "The rates are those of today, at the standard service tier, for calls of any time"],
    [
      rows.some(({ row }) => row.cache_write_tokens > 0),
      ONE_LIFETIME,
    ],
    [
      rows.some(({ hasRates }) => !hasRates),
      "Models without a known price are part of the tokens, not of the amounts",
    ],
  ];
  return textsOf(notes);
}
