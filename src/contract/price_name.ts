import type { PriceOverride } from "./price_override.ts";

/** Returns what a row is identified by: `openai:gpt-6-luna flex from 2026-11-01`. */
export const priceName = (
  { provider, model, service_tier, from }: Pick<
    PriceOverride,
    "provider" | "model" | "service_tier" | "from"
  >,
): string =>
  [
    `${provider}:${model}`,
    ...service_tier === undefined ? [] : [service_tier],
    ...from === undefined ? [] : [`from ${from}`],
  ]
    .join(" ");
