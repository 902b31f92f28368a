import { z } from "zod";
import { PurserError } from "../errors.ts";
import { parseUsdPerMillion } from "../money.ts";
import type { Rates } from "./rates.ts";

/** At most six decimals, so that a price is a whole number of pico-USD per token; at most 1 USD per token. */
const usdPerMillion = z.number({ error: "must be a number of USD per million tokens" })
  .min(0, "must not be negative")
  .max(1_000_000, "must be at most 1000000 USD per million tokens")
  .refine((value) => Number.isInteger(value) || Number(value.toFixed(6)) === value, {
    error: "must have at most six decimals",
  });

const name = (what: string) =>
  z.string({ error: `must be ${what}` }).min(1, `must be ${what}, not an empty text`);

/**
 * One row of `prices` in the config. A missing cache price is the input price, a missing one-hour price the
 * price of the other cache writes. Without `from` the row has always been true; of several, the latest whose
 * `from` (midnight UTC) has come holds. With `service_tier` it prices only calls served at that tier.
 */
export const PriceOverride = z.strictObject({
  provider: name("the name of a provider"),
  model: name("the name of a model"),
  input_usd_per_million: usdPerMillion,
  output_usd_per_million: usdPerMillion,
  cache_read_usd_per_million: usdPerMillion.optional(),
  cache_write_usd_per_million: usdPerMillion.optional(),
  cache_write_1h_usd_per_million: usdPerMillion.optional(),
  from: z.iso.date({ error: "must be a date such as 2026-01-01" }).optional(),
  service_tier: name("the name of a service tier").optional(),
});
export type PriceOverride = z.infer<typeof PriceOverride>;

/** The prices of one row as integers. */
export function ratesOfOverride(row: PriceOverride): Rates {
  const input = parseUsdPerMillion(row.input_usd_per_million);
  const output = parseUsdPerMillion(row.output_usd_per_million);
  const cacheWrite = parseUsdPerMillion(row.cache_write_usd_per_million ?? row.input_usd_per_million);
  return {
    source: "config",
    tiers: [{
      aboveInputTokens: -1,
      input,
      output,
      reasoning: output,
      cacheRead: parseUsdPerMillion(row.cache_read_usd_per_million ?? row.input_usd_per_million),
      cacheWrite,
      cacheWrite1h: row.cache_write_1h_usd_per_million === undefined
        ? cacheWrite
        : parseUsdPerMillion(row.cache_write_1h_usd_per_million),
    }],
  };
}

interface DatedRates {
  fromMs: number;
  serviceTier: string | undefined;
  rates: Rates;
}

/** The rows of the config, looked up by provider, model and time. */
export interface Overrides {
  /** The row for calls served at that tier, else the row for any tier, else undefined. */
  find(provider: string, model: string, at: number, serviceTier?: string): Rates | undefined;
  /** All rows that can price a call at that time: one per service tier, and the one for any tier. */
  findAll(provider: string, model: string, at: number): { anyTier?: Rates; byTier: Rates[] };
}

/** Indexes checked rows. Throws `invalid` where two rows claim the same provider, model, date and tier. */
export function indexOverrides(rows: readonly PriceOverride[]): Overrides {
  const index = new Map<string, Map<string, DatedRates[]>>();
  for (const row of rows) {
    const models = index.get(row.provider) ?? new Map<string, DatedRates[]>();
    const dated = models.get(row.model) ?? [];
    const fromMs = row.from === undefined ? -Infinity : Date.parse(`${row.from}T00:00:00.000Z`);
    if (dated.some((other) => other.fromMs === fromMs && other.serviceTier === row.service_tier)) {
      const from = row.from === undefined ? "without a date" : `from ${row.from}`;
      throw new PurserError(
        "invalid",
        `Cannot read the prices: ${row.provider}:${row.model} has two prices ${from}`,
      );
    }
    dated.push({ fromMs, serviceTier: row.service_tier, rates: ratesOfOverride(row) });
    dated.sort((a, b) => b.fromMs - a.fromMs || 0);
    index.set(row.provider, models.set(row.model, dated));
  }
  const latest = (rows: DatedRates[] | undefined, at: number, serviceTier: string | undefined) =>
    rows?.find((row) => row.fromMs <= at && row.serviceTier === serviceTier)?.rates;
  return {
    find(provider, model, at, serviceTier) {
      const rows = index.get(provider)?.get(model);
      if (rows === undefined) return undefined;
      const ofTier = serviceTier === undefined ? undefined : latest(rows, at, serviceTier);
      return ofTier ?? latest(rows, at, undefined);
    },
    findAll(provider, model, at) {
      const rows = index.get(provider)?.get(model);
      const tiers = new Set(rows?.flatMap((row) => row.serviceTier ?? []));
      return {
        anyTier: latest(rows, at, undefined),
        byTier: [...tiers].flatMap((tier) => latest(rows, at, tier) ?? []),
      };
    },
  };
}
