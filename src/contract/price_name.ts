import type { PriceOverride } from "./price_override.ts";

/** The fields that identify a row. */
export type PriceIdentity = Pick<
  PriceOverride,
  "provider" | "model" | "service_tier" | "from" | "region" | "change_percent"
>;

/** Returns what a row is identified by: `openai:gpt-6-luna flex from 2026-11-01`, or `contract anthropic:* in eu`. */
export const priceName = (
  { provider, model, service_tier, from, region, change_percent }: PriceIdentity,
): string =>
  [
    ...change_percent === undefined ? [] : ["contract"],
    `${provider}:${model}`,
    ...service_tier === undefined ? [] : [service_tier],
    ...region === undefined ? [] : [`in ${region}`],
    ...from === undefined ? [] : [`from ${from}`],
  ].join(" ");
