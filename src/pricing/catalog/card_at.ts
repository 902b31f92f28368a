import type { PriceQuery, Served } from "../price_book.ts";
import type { Rates, RateTier } from "../rates.ts";
import { type CompletedPrices, standardPricesAt, variantPricesAt } from "./complete_prices.ts";
import type { FoundModel } from "./price_sources.ts";
import type { Dimension } from "./dimensions.ts";
import { DIMENSIONS_OF, scaleTiers, tiersOf } from "./rate_card.ts";
import type { PriceTable } from "./price_data.ts";
import { hiddenRegionsOf, raiseTiers, upliftOf } from "./regional_prices.ts";
import { feesOf } from "./tool_prices.ts";
import { divideHalfEven } from "../../kernel/money.ts";

/** The names by which a model was called. */
type CalledModel = Pick<PriceQuery, "provider" | "model">;

/** Returns the rate card of a call, or null if the model has no price per input token at that time. */
export function cardAt(found: FoundModel, served: Served, at: number, called?: CalledModel): Rates | null {
  return sourcedCardAt(found, served, at, called)?.rates ?? null;
}

/** A rate card, and the parts of a usage whose rates are listed; the others have those of a rule. */
export interface SourcedCard {
  rates: Rates;
  listed(): ReadonlySet<string>;
}

/** Returns the rate card of a call, and the parts of it whose rates are listed. */
export function sourcedCardAt(
  found: FoundModel,
  served: Served,
  at: number,
  called: CalledModel = { provider: found.providerId, model: found.model.id },
): SourcedCard | null {
  const { providerId, isOwn, model } = found;
  const rules = rulesOf(providerId, model.id);
  const fees = feesOf({ ...called, id: model.id });
  const completed = standardPricesAt(found, at);
  const standard = fees
    ? { ...completed, prices: { ...completed.prices, ...fees } as PriceTable }
    : completed;
  const standardTiers = tiersOf(standard.prices, rules);
  if (standardTiers === null) return null;
  const unknown: string[] = [];
  let tiers = standardTiers;
  let listed: CompletedPrices | undefined;
  const { tier, speed, geo = geoOf(found.region) } = servedAs(served);
  if (tier !== undefined || speed !== undefined) {
    // No price list has a tier and a speed at once.
    const isBoth = tier !== undefined && speed !== undefined;
    const byRule = isOwn && tier !== undefined ? tiersByRule(providerId, tier, standardTiers) : undefined;
    listed = isBoth ? undefined : listedVariant(found, standard, { tier, speed }, at);
    // Claude's batches cost half everywhere; the map has some of them rounded, and some at an earlier price.
    const isHalf = rules.isClaude && tier === "batch" && listed?.ofOther.has("input_mtok");
    if (isHalf) {
      listed = undefined;
      tiers = halve(standardTiers);
    } else tiers = (listed && tiersOf(listed.prices, rules)) ?? byRule ?? standardTiers;
    if (tiers === standardTiers || isBoth) {
      if (tier !== undefined && tiers === standardTiers) unknown.push("service_tier");
      if (speed !== undefined) unknown.push("speed");
    }
  }
  const isByRule = listed === undefined && tiers !== standardTiers;
  const uplift = geo === undefined ? 1 : upliftOf(found, geo);
  if (uplift === undefined) unknown.push("inference_geo");
  else if (uplift !== 1) tiers = raiseTiers(tiers, uplift);
  const { prices, ofOther } = listed ?? standard;
  const source = ofOther.get("input_mtok") === 0 ? found.other!.source : found.source;
  const parts = () => listedParts(prices, { isByRule, fees });
  const sourceIn = (tier: RateTier, dimension: string) => {
    const isOfOther = Math.max(0, tier.aboveInputTokens) >= (ofOther.get(dimension) ?? Infinity);
    return isOfOther ? found.other!.source : found.source;
  };
  return {
    rates: {
      source,
      tiers: ofOther.size === 0 ? tiers : tiers.map((tier) => {
        const others = [...parts()].map(([part, dimension]) => [part, sourceIn(tier, dimension)] as const)
          .filter(([, one]) => one !== source);
        return others.length === 0 ? tier : { ...tier, sources: Object.fromEntries(others) };
      }),
      model: model.id,
      ...(unknown.length > 0 && { unknown }),
    },
    listed: () => new Set(parts().keys()),
  };
}

/** Returns the parts with a listed rate, each with its dimension; by a rule for tokens, only fees have one. */
function listedParts(
  prices: PriceTable,
  { isByRule, fees = {} }: { isByRule: boolean; fees: Partial<Record<Dimension, number>> | undefined },
): Map<string, Dimension> {
  const isListed = (one: Dimension) => fees[one] === undefined && !(isByRule && one.endsWith("_mtok"));
  return new Map(
    Object.entries(DIMENSIONS_OF).flatMap(([part, dimensions]) => {
      const found = dimensions.find((one) => prices[one] !== undefined);
      return found !== undefined && isListed(found) ? [[part, found] as const] : [];
    }),
  );
}

function rulesOf(providerId: string, modelId: string) {
  const isClaude = modelId.includes("claude");
  return { isClaude, isGoogle: providerId === "google" && !isClaude, medium: mediumOf(modelId) };
}

/** https://ai.google.dev/gemini-api/docs/pricing and https://developers.openai.com/api/docs/pricing list one output price. */
function mediumOf(modelId: string): "audio" | "image" | undefined {
  if (/-tts(?:-|$)/.test(modelId)) return "audio";
  return /^gpt-image-/.test(modelId) ? "image" : undefined;
}

/**
 * The service tiers that a default of the project or the deployment can choose for a call that requests no tier.
 * https://developers.openai.com/api/docs/guides/priority-processing,
 * https://learn.microsoft.com/azure/foundry/openai/concepts/priority-processing
 */
const DEFAULT_TIERS: Readonly<Record<string, readonly string[]>> = {
  openai: ["flex", "priority", "fast"],
  azure: ["priority"],
};

/**
 * Returns the cards by which a call may be billed: the standard one, that of the service that it asks for, and those of the
 * tiers and regions that it can get without asking.
 */
export function possibleCards(found: FoundModel, asked: Served, at: number): Rates[] {
  const defaults = Object.hasOwn(DEFAULT_TIERS, found.seller.id) ? DEFAULT_TIERS[found.seller.id]! : [];
  const tiers = [undefined, ...defaults.filter((tier) => isListed(found, tier)), asked.serviceTier];
  const regions = asked.inferenceGeo === undefined
    ? [undefined, ...hiddenRegionsOf(found)]
    : [asked.inferenceGeo];
  const cards = [...new Set(tiers)].flatMap((serviceTier) =>
    [...new Set([undefined, asked.speed])].flatMap((speed) =>
      regions.map((inferenceGeo) => cardAt(found, { serviceTier, speed, inferenceGeo }, at))
    )
  );
  return cards.filter((card) => card !== null && card.unknown === undefined) as Rates[];
}

/** The service of a call, in the terms of the prices; undefined is standard. */
export interface ServedAs {
  /** `batch`, `flex`, `priority`, … */
  tier: string | undefined;
  /** `fast`. */
  speed: string | undefined;
  /** `us`. */
  geo: string | undefined;
}

/** The names of the standard tier; Gemini's are those of its `trafficType`. */
const STANDARD_TIERS = new Set(["", "default", "standard", "auto", "on_demand", "traffic_type_unspecified"]);

const TIER_NAMES: Readonly<Record<string, string>> = {
  on_demand_flex: "flex",
  on_demand_priority: "priority",
  batches: "batch",
};

/** Translates the properties of the service that a provider reports. */
export function servedAs({ serviceTier, speed, inferenceGeo }: Served): ServedAs {
  const tier = (serviceTier ?? "").toLowerCase();
  const fast = (speed ?? "").toLowerCase();
  return {
    tier: STANDARD_TIERS.has(tier)
      ? undefined
      : (Object.hasOwn(TIER_NAMES, tier) && TIER_NAMES[tier]) || tier,
    speed: STANDARD_TIERS.has(fast) ? undefined : fast,
    geo: geoOf(inferenceGeo),
  };
}

function geoOf(region: string | undefined): string | undefined {
  const geo = region?.toLowerCase();
  return geo === undefined || ["", "global", "not_available"].includes(geo) ? undefined : geo;
}

/** Returns the contexts under which the prices may list a tier. */
function contextsOf(tier: string): Readonly<Record<string, string>>[] {
  if (tier === "batch") return [{ processing: "batch" }];
  // OpenAI reports a request's `fast` as `priority`: either serves for the other.
  const other = tier === "fast" ? "priority" : tier === "priority" ? "fast" : undefined;
  return [tier, ...(other === undefined ? [] : [other])].map((one) => ({ service_tier: one }));
}

/** Returns the prices of a tier or a speed, or undefined if neither source has any at that time. */
function listedVariant(
  found: FoundModel,
  standard: CompletedPrices,
  { tier, speed }: Pick<ServedAs, "tier" | "speed">,
  at: number,
): CompletedPrices | undefined {
  const contexts = speed !== undefined ? [{ speed }] : tier === undefined ? [] : contextsOf(tier);
  for (const context of contexts) {
    const prices = variantPricesAt(found, standard, context, at);
    if (prices) return prices;
  }
  return undefined;
}

/** Half of the standard price, if a provider publishes that as its rule. */
const HALVED: Readonly<Record<string, readonly string[]>> = {
  // https://developers.openai.com/api/docs/pricing
  openai: ["batch", "flex"],
  // https://platform.claude.com/docs/en/build-with-claude/batch-processing#pricing
  anthropic: ["batch"],
  // https://ai.google.dev/gemini-api/docs/batch-api
  google: ["batch"],
  // https://docs.mistral.ai/capabilities/batch
  mistral: ["batch"],
};

/** Returns the tiers of a provider's rule for a service tier, or undefined without a rule. */
export function tiersByRule(
  providerId: string,
  tier: string,
  standard: readonly RateTier[],
): RateTier[] | undefined {
  if (!Object.hasOwn(HALVED, providerId) || !HALVED[providerId]!.includes(tier)) return undefined;
  return halve(standard);
}

const halve = (tiers: readonly RateTier[]) => scaleTiers(tiers, (rate) => divideHalfEven(rate, 2n));

/** Returns whether the data has prices for a service tier, whenever they hold. */
function isListed({ model, isOwn, other }: FoundModel, tier: string): boolean {
  const variants = [...isOwn ? model.price_variants ?? [] : [], ...other?.model.price_variants ?? []];
  return variants.some(({ when }) => when.service_tier === tier);
}
