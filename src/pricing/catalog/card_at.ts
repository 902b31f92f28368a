import type { Served } from "../prices.ts";
import type { Rates } from "../rates.ts";
import { correctedPricesAt } from "./deepseek_peak.ts";
import type { FoundModel } from "./price_sources.ts";
import { tiersOf } from "./rate_card.ts";
import { listedVariant, type ServedAs, servedAs } from "./served_as.ts";
import { hasUsInference, tiersByRule, usTiersOf } from "./service_rules.ts";

/** Returns the rate card of a call, or null if the model has no price per input token at that time. */
export function cardAt(found: FoundModel, served: Served, at: number): Rates | null {
  return cardServedAs(found, servedAs(served), at);
}

function cardServedAs(
  { providerId, isOwn, model, source }: FoundModel,
  served: ServedAs,
  at: number,
): Rates | null {
  const rules = rulesOf(providerId, model.id);
  const standard = correctedPricesAt(providerId, model, at);
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
