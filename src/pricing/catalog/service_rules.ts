import { divideHalfEven } from "../../kernel/money.ts";
import type { RateTier } from "../rates.ts";
import { scaleTiers } from "./rate_card.ts";

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
  if (!HALVED[providerId]?.includes(tier)) return undefined;
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
