/** Shows the prices in use: the rates of a model, the sources, and the faults of the prices of models in use. */

import type { PriceOverride } from "../../contract/price_override.ts";
import type { PriceCard, PriceRate, PriceSource, PriceVariant } from "../../contract/prices.ts";
import { DAY_MS, toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { isContract } from "../contracts.ts";
import type { PricesInUse } from "../prices.ts";
import type { PriceQuery, Served } from "../price_book.ts";
import { isOwn, type Rates, type RateTier } from "../rates.ts";
import { USAGE_DETAILS } from "../usage/usage.ts";
import { BUILT_IN_PROVIDERS, DEMO_MODELS } from "../../contract/values.ts";
import { namesOf } from "../catalog/names/model_names.ts";
import { providerIdOf } from "../catalog/names/provider_names.ts";
import { isOwnPart, withAllToolRates } from "../catalog/tool_prices.ts";
import type { PriceData } from "../catalog/price_data.ts";
import { listEntries } from "../updates/entries.ts";
import type { PriceDifference } from "../catalog/compare_sources.ts";

export { providerIdOf };

/** A model to look up: with its provider, as `provider:model`, or bare where the provider is unambiguous. */
interface PriceLookup {
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
  const query = prices.book.located({ provider, model, at });
  const served = { ...query, serviceTier };
  const rates = ratesOf(prices, served);
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
    ...endOf(prices, query),
    tiers: tiersOf(prices, served, rates),
    variants: serviceTier === undefined ? variantsOf(prices, query, rates) : [],
    unpriced: [...unpricedParts(rates.tiers[0]!), ...rates.unknown ?? []],
  };
}

function ratesOf({ book }: PricesInUse, query: PriceQuery & Served): Rates | null {
  return book.rates(query, (card) => withAllToolRates(card, query));
}

function endOf({ catalog }: PricesInUse, query: PriceQuery): Pick<PriceCard, "ends_on" | "is_deprecated"> {
  const { endsOn, isDeprecated } = catalog.endOf(query);
  const hasEnded = endsOn !== undefined && Date.parse(endsOn) <= query.at;
  return { ends_on: endsOn ?? null, is_deprecated: isDeprecated || hasEnded };
}

function tiersOf({ catalog }: PricesInUse, query: PriceQuery & Served, rates: Rates): PriceCard["tiers"] {
  const listed = isOwn(rates) || rates.source === "demo" ? undefined : catalog.listedParts(query);
  return rates.tiers.map((tier) => ({
    above_input_tokens: Math.max(0, tier.aboveInputTokens),
    rates: rateLines(tier).map((line) => {
      const isListed = listed === undefined || listed.has(line.part);
      return { ...line, source: isListed ? tier.sources?.[line.part] ?? rates.source : "rule" };
    }),
  }));
}

function unpricedParts({ output, details }: RateTier): string[] {
  const rateless = USAGE_DETAILS.filter((part) => details?.[part] === undefined && !isOwnPart(part));
  return output === null ? ["output_tokens", ...rateless] : rateless;
}

const VARIANTS: readonly [served: string, query: Served][] = [
  ...["flex", "priority", "batch", "ultrafast"].map((serviceTier): [string, Served] => [
    `service_tier=${serviceTier}`,
    { serviceTier },
  ]),
  ["speed=fast", { speed: "fast" }],
  ...["us", "eu", "regional"].map((inferenceGeo): [string, Served] => [
    `inference_geo=${inferenceGeo}`,
    { inferenceGeo },
  ]),
];

/** Returns the services with rates that differ from those of the standard one; of regions with the same rates, the first. */
function variantsOf(prices: PricesInUse, query: PriceQuery & Served, standard: Rates): PriceVariant[] {
  const usdOf = ({ tiers }: Rates) => JSON.stringify(tiers.map(rateLines));
  const seen = new Set([usdOf(standard)]);
  return VARIANTS.flatMap(([served, how]) => {
    const rates = ratesOf(prices, { ...query, ...how });
    if (rates === null || rates.unknown) return [];
    const usd = usdOf(rates);
    if (seen.has(usd)) return [];
    if (how.inferenceGeo !== undefined) seen.add(usd);
    return [{ served, tiers: tiersOf(prices, { ...query, ...how }, rates) }];
  });
}

/** Number of providers that are named where a model has several. */
const MAX_NAMED = 5;

/** Returns the provider and the model that a name means; for an unknown one, the name as it is. */
function chooseProvider(
  prices: PricesInUse,
  { provider, model }: Omit<PriceLookup, "at" | "serviceTier">,
  at: number,
): { provider: string; model: string } {
  if (provider !== undefined) return { provider, model };
  const hasPrice = (provider: string, model: string) => prices.book.rates({ provider, model, at }) !== null;
  const providers = providersOf(prices);
  const split = splitName(model, providers);
  if (split) return split;
  const maker = BUILT_IN_PROVIDERS.find((id) => id !== "demo" && hasPrice(id, model));
  if (maker) return { provider: maker, model };
  const sellers = [...providers].filter((id) => id !== "demo" && hasPrice(id, model));
  if (sellers.length > 1) {
    const more = sellers.length > MAX_NAMED ? " and others" : "";
    throw new PurserError(
      "invalid",
      `Cannot choose the provider of ${model}: ${sellers.slice(0, MAX_NAMED).join(", ")}${more} have it; ` +
        `name one, as ${sellers[0]}:${model}`,
    );
  }
  return { provider: sellers[0] ?? "", model };
}

/** Splits `provider:model`. The names of some models contain a colon too. */
function splitName(
  name: string,
  providers: ReadonlySet<string>,
): { provider: string; model: string } | undefined {
  const colon = name.indexOf(":");
  if (colon < 1) return undefined;
  const provider = name.slice(0, colon);
  if (!providers.has(provider) && !providers.has(providerIdOf(provider))) return undefined;
  return { provider, model: name.slice(colon + 1) };
}

function providersOf({ overrides, stored, listed }: PricesInUse): Set<string> {
  return new Set([
    ...BUILT_IN_PROVIDERS,
    ...[...overrides, ...stored].map(({ provider }) => provider),
    ...listed.genai.providers.map(({ id }) => id),
    ...factsOf(listed.litellm).providerIds,
  ]);
}

/** Returns the known models with the names nearest to an unknown one, as `provider:model`. */
function suggestModels(
  prices: PricesInUse,
  { provider, model }: Omit<PriceLookup, "at" | "serviceTier">,
): string[] {
  const named = provider === undefined ? splitName(model, providersOf(prices)) : { provider, model };
  if (named) {
    return prices.catalog.nearest(named.provider, named.model).map((name) => `${named.provider}:${name}`);
  }
  return BUILT_IN_PROVIDERS.flatMap((id) =>
    prices.catalog.nearest(id, model).slice(0, 1).map((name) => `${id}:${name}`)
  );
}

/** Lists the models with a price as `provider:model`, in lower case; `more` are prices that are about to be set. */
export function listPriced(
  { overrides, stored, listed }: PricesInUse,
  more: readonly PriceOverride[] = [],
): string[] {
  const own = [...more, ...overrides, ...stored].filter((row) => !isContract(row));
  return [
    ...own.map(({ provider, model }) => `${providerIdOf(provider)}:${model}`.toLowerCase()),
    ...DEMO_MODELS.map((model) => `demo:${model}`),
    ...[listed.genai, listed.litellm].flatMap((data) => factsOf(data).names),
  ];
}

type RateLine = Omit<PriceRate, "source">;

const MILLION = 1_000_000;
const THOUSAND = 1_000;

/** Lists the rates of a tier, each in USD per million tokens or per thousand counts. */
function rateLines(tier: RateTier): RateLine[] {
  const { details = {}, request } = tier;
  const tokens: [part: string, rate: bigint | null][] = [
    ["input_tokens", tier.input],
    ["output_tokens", tier.output],
    ["reasoning_tokens", tier.reasoning],
    ["cache_read_tokens", tier.cacheRead],
    ["cache_write_tokens", tier.cacheWrite],
    ["cache_write_1h_tokens", tier.cacheWrite1h],
    ...Object.entries(details).filter(([part]) => isTokens(part)),
  ];
  const counts: [part: string, rate: bigint | undefined][] = [
    ...Object.entries(details).filter(([part]) => !isTokens(part)),
    ["requests", request],
  ];
  return [
    ...tokens.flatMap(([part, rate]) => rate === null ? [] : [rateOf(part, rate, MILLION)]),
    ...counts.flatMap(([part, rate]) => rate === undefined ? [] : [rateOf(part, rate, THOUSAND)]),
  ];
}

const isTokens = (part: string) => part.endsWith("_tokens");

function rateOf(part: string, picoUsd: bigint, per: number): RateLine {
  // Exact: a rate in USD has at most nine decimals, and fewer than 16 digits.
  return { part, usd: Number(picoUsd * BigInt(per)) / 1e12, per };
}

/** Describes where the listed prices come from, in the order in which they apply. */
export function describeSources({ listed }: PricesInUse, now: number): PriceSource[] {
  return [listed.genai, listed.litellm].map((data) => ({
    name: data.source,
    date: data.date,
    age_days: Math.max(0, Math.floor((now - Date.parse(data.date)) / DAY_MS)),
    origin: listed.updated.has(data.source) ? "update" : "release",
    url: data.url ?? null,
    models: factsOf(data).models,
  }));
}

interface SourceFacts {
  models: number;
  /** All names of the models as `provider:model`, in lower case. */
  names: readonly string[];
  providerIds: ReadonlySet<string>;
}

const sourceFacts = new WeakMap<PriceData, SourceFacts>();

/** Returns facts of a source, which are computed once: that takes 40 ms, in which no other request is answered. */
function factsOf(data: PriceData): SourceFacts {
  let facts = sourceFacts.get(data);
  if (facts === undefined) {
    const entries = listEntries(data);
    facts = {
      models: entries.length,
      providerIds: new Set(entries.map(({ providerId }) => providerId)),
      names: entries.flatMap(({ providerId, name, model }) => {
        // LiteLLM's key may begin with the provider.
        const key = data.source === "litellm" ? name : model.id;
        const names = [key, key.slice(key.indexOf("/") + 1), ...namesOf(model.match).exact];
        return [...new Set(names)].map((one) => `${providerId}:${one.toLowerCase()}`);
      }),
    };
    sourceFacts.set(data, facts);
  }
  return facts;
}

/** A model that calls were booked for. */
interface UsedModel {
  provider: string;
  model: string;
}

/** The faults in the prices of some models. */
export interface PriceFindings {
  /** The models without a price, each with the known names nearest to its own. */
  unpriced: { name: string; nearest: string[] }[];
  /** The models of which both sources know a rate, and differ by over 1%. */
  disputed: { name: string; differences: PriceDifference[] }[];
  /** The models that their providers have ended, or end within 30 days. */
  ending: { name: string; endsOn: string }[];
}

/** The time before its end at which a model is found. */
const END_NOTICE_MS = 30 * DAY_MS;

/** Checks the prices of models at a time. */
export function checkPrices(
  { book, catalog }: PricesInUse,
  models: readonly UsedModel[],
  at: number,
): PriceFindings {
  const findings: PriceFindings = { unpriced: [], disputed: [], ending: [] };
  const differences = models.length === 0 ? [] : catalog.compareSources(at);
  for (const { provider, model } of models) {
    const name = `${provider}:${model}`;
    const rates = book.rates({ provider, model, at });
    const { endsOn } = catalog.endOf({ provider, model, at });
    if (endsOn !== undefined && Date.parse(endsOn) - at <= END_NOTICE_MS) {
      findings.ending.push({ name, endsOn });
    }
    if (rates === null) {
      findings.unpriced.push({ name, nearest: catalog.nearest(provider, model) });
    } else if (rates.source.startsWith("genai-prices")) {
      const names = [model.toLowerCase(), (rates.model ?? model).toLowerCase()];
      const own = differences.filter((one) =>
        one.provider === providerIdOf(provider) && names.includes(one.model.toLowerCase())
      );
      if (own.length > 0) findings.disputed.push({ name, differences: own });
    }
  }
  return findings;
}
