import { parseUsdPerMillion } from "../kernel/money.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import type { Rates } from "./rates.ts";

/** Converts the prices of one row to integers. */
function ratesOfOverride(row: PriceOverride): Rates {
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

/** The price overrides of the config, by provider, model and time. */
export interface Overrides {
  /** Returns the row for calls of that tier, else the row for any tier, else undefined. */
  find(provider: string, model: string, at: number, serviceTier?: string): Rates | undefined;
  /** Returns all rows that can price a call at that time: one per service tier, and the one for any tier. */
  findAll(provider: string, model: string, at: number): { anyTier?: Rates; byTier: Rates[] };
}

/** Indexes checked rows. */
export function indexOverrides(rows: readonly PriceOverride[]): Overrides {
  const index = new Map<string, Map<string, DatedRates[]>>();
  for (const row of rows) {
    const models = index.get(row.provider) ?? new Map<string, DatedRates[]>();
    const dated = models.get(row.model) ?? [];
    const fromMs = row.from === undefined ? -Infinity : Date.parse(`${row.from}T00:00:00.000Z`);
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
