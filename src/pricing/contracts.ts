import type { PriceOverride } from "../contract/price_override.ts";
import { divideHalfEven } from "../kernel/money.ts";
import type { PriceQuery, Served } from "./price_book.ts";
import { providerIdOf } from "./catalog/names/provider_names.ts";
import { isOwn, type Rates, type RateTier } from "./rates.ts";

/** A row that changes listed rates. */
type Contract = PriceOverride & { change_percent: number };

export const isContract = (row: PriceOverride): row is Contract => row.change_percent !== undefined;

/** The contracts of a price book, which change listed rate cards. */
export interface Contracts {
  /** Returns a card by the contract that holds for the calls of a query; without one, the card itself. */
  apply(rates: Rates, query: PriceQuery & Served): Rates;
  /** The same for a bound: by the dearest contract that can hold for a call at the times, at whatever tier and region. */
  bound(rates: Rates, query: PriceQuery, times: readonly number[]): Rates;
}

const startOf = (day: string) => Date.parse(`${day}T00:00:00.000Z`);

/** Indexes the contracts of a price book. Cards are kept by the card that they change, so that each has one price id. */
export function indexContracts(rows: readonly Contract[]): Contracts {
  if (rows.length === 0) return { apply: (rates) => rates, bound: (rates) => rates };
  const ranked = rows.map((row) => ({ ...row, provider: providerIdOf(row.provider) })).sort(byPrecedence);
  const changed = new WeakMap<Rates, Map<number, Rates>>();

  function change(rates: Rates, percent: number): Rates {
    if (percent === 0) return rates;
    const known = changed.get(rates) ?? new Map<number, Rates>();
    const card = known.get(percent) ?? changeRates(rates, percent);
    changed.set(rates, known.set(percent, card));
    return card;
  }

  const holds = (row: Contract, { provider, model }: PriceQuery, at: number) =>
    row.provider === providerIdOf(provider) && matches(row.model, model) &&
    (row.from === undefined || at >= startOf(row.from)) &&
    (row.until === undefined || at < startOf(row.until));

  return {
    apply(rates, query) {
      if (isOwn(rates) || rates.source === "demo") return rates;
      const row = ranked.find((row) =>
        holds(row, query, query.at) &&
        (row.service_tier === undefined || row.service_tier === query.serviceTier) &&
        (row.region === undefined || matches(row.region, query.inferenceGeo ?? ""))
      );
      return change(rates, row?.change_percent ?? 0);
    },
    bound(rates, query, times) {
      if (isOwn(rates) || rates.source === "demo") return rates;
      const percents = times.flatMap((at) => {
        const possible = ranked.filter((row) => holds(row, query, at));
        const isSure = possible.some((row) => row.service_tier === undefined && row.region === undefined);
        return [...possible.map((row) => row.change_percent), ...isSure ? [] : [0]];
      });
      return change(rates, Math.max(...percents));
    },
  };
}

const matches = (pattern: string, name: string) =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;

/** More conditions come first: a tier, a region, the exact model, the longer pattern; then the latest start. */
function byPrecedence(a: Contract, b: Contract): number {
  const conditions = ({ service_tier, region, model }: Contract) =>
    Number(service_tier !== undefined) + Number(region !== undefined) + Number(model !== "*");
  const isPattern = ({ model }: Contract) => Number(model.endsWith("*"));
  return conditions(b) - conditions(a) || isPattern(a) - isPattern(b) || b.model.length - a.model.length ||
    ((a.from ?? "") < (b.from ?? "") ? 1 : -1);
}

/** Changes every rate of a card, of tokens, counts and requests, rounded half to even to a pico-USD; not those of other models. */
function changeRates(rates: Rates, percent: number): Rates {
  const factor = 1_000_000n + BigInt(Math.round(percent * 10_000));
  const scale = <Value>(value: Value) =>
    (typeof value === "bigint" ? divideHalfEven(value * factor, 1_000_000n) : value) as Value;
  const scaleAll = <Values extends object>(values: Values) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, scale(value)])) as Values;
  const suffix = `, contract ${percent > 0 ? "+" : ""}${percent}%`;
  const tiers = rates.tiers.map((tier): RateTier => ({
    ...scaleAll(tier),
    ...(tier.details && { details: scaleAll(tier.details) }),
    ...(tier.sources && {
      sources: Object.fromEntries(Object.entries(tier.sources).map(([part, name]) => [part, name + suffix])),
    }),
  }));
  return { ...rates, source: rates.source + suffix, tiers };
}
