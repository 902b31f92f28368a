import type { PriceQuery, Served } from "../price_book.ts";
import type { Rates, RateTier } from "../rates.ts";
import { correctedPricesAt } from "./deepseek_peak.ts";
import type { FoundModel } from "./price_sources.ts";
import { scaleTiers, tiersOf } from "./rate_card.ts";
import { withFees } from "./tool_prices.ts";
import { variantAt } from "./prices_at.ts";
import type { ModelPrices, PriceTable } from "./price_data.ts";
import { divideHalfEven } from "../../kernel/money.ts";

/** Returns the rate card of a call, or null if the model has no price per input token at that time. */
export function cardAt(
  found: FoundModel,
  served: Served,
  at: number,
  /** The names by which the model was called. */
  called: CalledModel = { provider: found.providerId, model: found.model.id },
): Rates | null {
  return cardServedAs(found, servedAs(served), at, called);
}

type CalledModel = Pick<PriceQuery, "provider" | "model">;

function cardServedAs(
  { providerId, isOwn, model, source }: FoundModel,
  served: ServedAs,
  at: number,
  called: CalledModel,
): Rates | null {
  const rules = rulesOf(providerId, model.id);
  const standard = withFees(correctedPricesAt(providerId, model, at), { ...called, id: model.id });
  const standardTiers = tiersOf(standard, rules);
  if (standardTiers === null) return null;
  const unknown: string[] = [];
  let tiers = standardTiers;
  const { tier, speed, geo } = served;
  if (tier !== undefined || speed !== undefined) {
    // No price list has a tier and a speed at once.
    const isBoth = tier !== undefined && speed !== undefined;
    const listed = isOwn && !isBoth ? listedVariant(model, standard, served, at) : undefined;
    const byRule = isOwn && tier !== undefined ? tiersByRule(providerId, tier, standardTiers) : undefined;
    tiers = (listed && tiersOf(listed, rules)) ?? byRule ?? standardTiers;
    if (tiers === standardTiers || isBoth) {
      if (tier !== undefined && tiers === standardTiers) unknown.push("service_tier");
      if (speed !== undefined) unknown.push("speed");
    }
  }
  if (geo !== undefined) {
    if (isOwn && geo === "us" && hasUsInference(providerId, model.id)) tiers = usTiersOf(tiers);
    else unknown.push("inference_geo");
  }
  return { source, tiers, model: model.id, ...(unknown.length > 0 && { unknown }) };
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

/** The service tiers that a project's default can choose for a call that asks for none. */
const DEFAULT_TIERS = ["flex", "priority", "fast"];

/**
 * Returns the cards by which a call may be billed without having asked for it: the standard one, those of the tiers that a
 * project can have as its default, and that of Anthropic's inference in the USA, which a workspace can.
 */
export function possibleCards(found: FoundModel, at: number): Rates[] {
  const { model, providerId, isOwn } = found;
  const tiers = isOwn ? DEFAULT_TIERS.filter((tier) => isListed(found, tier)) : [];
  const geos = isOwn && hasUsInference(providerId, model.id) ? ["us"] : [];
  const cards = [
    cardAt(found, {}, at),
    ...tiers.map((serviceTier) => cardAt(found, { serviceTier }, at)),
    ...geos.map((inferenceGeo) => cardAt(found, { inferenceGeo }, at)),
  ];
  return cards.filter((card) => card !== null && card.unknown === undefined) as Rates[];
}

function isListed({ model }: FoundModel, tier: string): boolean {
  return model.price_variants?.some(({ when }) => when.service_tier === tier) ?? false;
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

/** Translates what a provider reports. */
export function servedAs({ serviceTier, speed, inferenceGeo }: Served): ServedAs {
  const tier = (serviceTier ?? "").toLowerCase();
  const fast = (speed ?? "").toLowerCase();
  const geo = (inferenceGeo ?? "").toLowerCase();
  return {
    tier: STANDARD_TIERS.has(tier)
      ? undefined
      : (Object.hasOwn(TIER_NAMES, tier) && TIER_NAMES[tier]) || tier,
    speed: STANDARD_TIERS.has(fast) ? undefined : fast,
    geo: ["", "global", "not_available"].includes(geo) ? undefined : geo,
  };
}

/** Returns the contexts under which the prices may list a tier. */
function contextsOf(tier: string): Readonly<Record<string, string>>[] {
  if (tier === "batch") return [{ processing: "batch" }];
  // OpenAI reports a request's `fast` as `priority`: either serves for the other.
  const other = tier === "fast" ? "priority" : tier === "priority" ? "fast" : undefined;
  return [tier, ...(other === undefined ? [] : [other])].map((one) => ({ service_tier: one }));
}

/** Returns the prices of a tier or a speed, or undefined if the data has none at that time. */
export function listedVariant(
  model: ModelPrices,
  standard: PriceTable,
  { tier, speed }: Pick<ServedAs, "tier" | "speed">,
  at: number,
): PriceTable | undefined {
  if (speed !== undefined) return variantAt(model, standard, { speed }, at);
  for (const context of tier === undefined ? [] : contextsOf(tier)) {
    const prices = variantAt(model, standard, context, at);
    if (prices) return prices;
  }
  return undefined;
}

/** Half of the standard, where a provider publishes that as its rule. */
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
  return scaleTiers(standard, (rate) => divideHalfEven(rate, 2n));
}

/**
 * Returns whether Anthropic offers inference within the USA for a model: Opus 4.6, Sonnet 4.6 and every later one.
 * https://platform.claude.com/docs/en/manage-claude/data-residency
 */
export function hasUsInference(providerId: string, modelId: string): boolean {
  if (providerId !== "anthropic") return false;
  const [, major, minor = "0"] = /^claude-[a-z]+-(\d+)(?:-(\d{1,2}))?(?:$|-|@)/.exec(modelId) ?? [];
  if (major === undefined) return false;
  return Number(major) >= 5 || (Number(major) === 4 && Number(minor) >= 6);
}

/** Inference within the USA costs 1.1x for every category of tokens. */
export function usTiersOf(tiers: readonly RateTier[]): RateTier[] {
  return scaleTiers(tiers, (rate) => divideHalfEven(rate * 11n, 10n));
}
