import type { Served } from "../prices.ts";
import { variantAt } from "./prices_at.ts";
import type { ModelPrices, PriceTable } from "./price_data.ts";

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
    tier: STANDARD_TIERS.has(tier) ? undefined : TIER_NAMES[tier] ?? tier,
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
