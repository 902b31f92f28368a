import { divideHalfEven } from "../../kernel/money.ts";
import type { RateTier } from "../rates.ts";
import type { FoundModel } from "./price_sources.ts";
import { scaleTiers } from "./rate_card.ts";

/**
 * Returns the factor of the rates of tokens in a region: 1 at the standard prices, undefined if it isn't known. The
 * multiples are those of LiteLLM's map: OpenAI's regional processing, Vertex' regional endpoints.
 */
export function upliftOf(found: FoundModel, geo: string): number | undefined {
  const { seller, isOwn, model, other } = found;
  if (found.isOfRegion) return 1;
  if (seller.id === "anthropic" && isOwn && geo === "us" && hasUsInference(model.id)) return 1.1;
  const uplifts = { ...other?.model.uplifts, ...model.uplifts };
  const listed = Object.hasOwn(uplifts, geo) ? uplifts[geo] : uplifts.regional;
  if (listed !== undefined) return listed;
  if (seller.id === "google" && model.id.includes("claude")) return hasVertexPremium(model.id) ? 1.1 : 1;
  // AWS GovCloud and China have prices of their own.
  if (seller.id === "aws" && /^(?:us-gov|cn)-/.test(geo)) return undefined;
  // Where the map has a model without a multiple, its regions have one price; Bedrock's others are keys of their own.
  const isKnown = other?.source.startsWith("litellm") || found.source.startsWith("litellm");
  return isKnown && WITH_REGIONS.has(seller.id) && Object.keys(uplifts).length === 0 ? 1 : undefined;
}

/** The providers whose regions LiteLLM's map has. */
const WITH_REGIONS = new Set(["aws", "google", "openai"]);

/** Returns a region at whose prices a call may be billed that doesn't show it, in a list; of the same price, there is one. */
export function hiddenRegionsOf({ seller, isOwn, model, other, region }: FoundModel): string[] {
  // The default of a workspace can be the USA.
  if (seller.id === "anthropic" && isOwn) return hasUsInference(model.id) || model.uplifts?.us ? ["us"] : [];
  const isRegional = seller.isOtherService && region === undefined;
  return isRegional && (model.uplifts ?? other?.model.uplifts)?.regional ? ["regional"] : [];
}

/**
 * Returns whether Anthropic offers inference within the USA for a model: Opus 4.6, Sonnet 4.6 and every later one.
 * https://platform.claude.com/docs/en/manage-claude/data-residency
 */
const hasUsInference = (modelId: string) => claudeVersionOf(modelId) >= 406;

/**
 * Returns whether a region of Vertex costs more than its global endpoint: Claude Sonnet 4.5 and every later model.
 * https://platform.claude.com/docs/en/about-claude/pricing#cloud-platform-pricing
 */
const hasVertexPremium = (modelId: string) => claudeVersionOf(modelId) >= 405;

/** Returns the version of a Claude model as a number: 405 of claude-sonnet-4-5. */
function claudeVersionOf(modelId: string): number {
  const [, major = "0", minor = "0"] = /claude-(?:[a-z]+-)?(\d+)(?:[.-](\d{1,2}))?(?:$|[-@])/.exec(modelId) ??
    [];
  return Number(major) * 100 + Number(minor);
}

/** Multiplies the rates of every category of tokens. */
export function raiseTiers(tiers: readonly RateTier[], by: number): RateTier[] {
  const thousandths = BigInt(Math.round(by * 1_000));
  return scaleTiers(tiers, (rate) => divideHalfEven(rate * thousandths, 1_000n));
}
