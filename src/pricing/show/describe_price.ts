import type { PriceCard, PriceVariant } from "../../contract/prices.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { PriceQuery, PricesInUse, Served } from "../prices.ts";
import type { Rates, RateTier } from "../rates.ts";
import { USAGE_DETAILS } from "../usage/usage.ts";
import { chooseProvider, suggestModels } from "./choose_provider.ts";
import { rateLines } from "./rate_lines.ts";

/** A model to look up: with its provider, as `provider:model`, or bare where the provider is unambiguous. */
export interface PriceLookup {
  model: string;
  provider?: string | undefined;
  /** In milliseconds since the epoch. */
  at: number;
  serviceTier?: string | undefined;
}

/**
 * Describes the rates by which the calls of a model are billed.
 *
 * @throws {PurserError} `not_found` with `details.nearest`; `invalid` where several providers have a bare name
 */
export function describePrice(prices: PricesInUse, { at, serviceTier, ...named }: PriceLookup): PriceCard {
  const { provider, model } = chooseProvider(prices, named, at);
  const query = { provider, model, at };
  const rates = prices.book.rates({ ...query, serviceTier });
  if (rates === null) {
    const nearest = suggestModels(prices, named);
    const hint = nearest.length > 0 ? `; did you mean ${nearest.join(" or ")}?` : "";
    const name = named.provider === undefined ? named.model : `${named.provider}:${named.model}`;
    throw new PurserError("not_found", `Cannot find a price of ${name}${hint}`, { details: { nearest } });
  }
  return {
    provider,
    model,
    at: toIso(at),
    source: rates.source,
    matched_model: rates.model ?? model,
    tiers: tiersOf(rates),
    variants: serviceTier === undefined ? variantsOf(prices, query, rates) : [],
    unpriced: [...unpricedParts(rates.tiers[0]!), ...rates.unknown ?? []],
  };
}

function tiersOf({ tiers }: Rates): PriceCard["tiers"] {
  return tiers.map((tier) => ({
    above_input_tokens: Math.max(0, tier.aboveInputTokens),
    rates: rateLines(tier),
  }));
}

function unpricedParts({ output, details }: RateTier): string[] {
  const rateless = USAGE_DETAILS.filter((part) => details?.[part] === undefined);
  return output === null ? ["output_tokens", ...rateless] : rateless;
}

const VARIANTS: readonly [served: string, query: Served][] = [
  ...["flex", "priority", "batch", "ultrafast"].map((serviceTier): [string, Served] => [
    `service_tier=${serviceTier}`,
    { serviceTier },
  ]),
  ["speed=fast", { speed: "fast" }],
  ["inference_geo=us", { inferenceGeo: "us" }],
];

/** Returns the services with rates that differ from those of the standard one. */
function variantsOf({ book }: PricesInUse, query: PriceQuery, standard: Rates): PriceVariant[] {
  const standardText = JSON.stringify(tiersOf(standard));
  return VARIANTS.flatMap(([served, how]) => {
    const rates = book.rates({ ...query, ...how });
    if (rates === null || rates.unknown) return [];
    const tiers = tiersOf(rates);
    return JSON.stringify(tiers) === standardText ? [] : [{ served, tiers }];
  });
}
