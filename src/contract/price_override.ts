import { z } from "zod";
import { BILLED_PART_NAMES, isTokenPart, type PartPriceField, priceFieldOf } from "./billed_parts.ts";

/** At most six decimals, so that a price is a whole number of pico-USD per token; at most 1 USD per token. */
const usdPerMillion = z.number({ error: "must be a number of USD per million tokens" })
  .min(0, "must not be negative")
  .max(1_000_000, "must be at most 1000000 USD per million tokens")
  .refine((value) => Number.isInteger(value) || Number(value.toFixed(6)) === value, {
    error: "must have at most six decimals",
  });

/** At most six decimals: a whole number of nano-USD each. */
const usdPerThousand = z.number({ error: "must be a number of USD per thousand" })
  .min(0, "must not be negative")
  .max(1_000_000, "must be at most 1000000 USD per thousand")
  .refine((value) => Number.isInteger(value) || Number(value.toFixed(6)) === value, {
    error: "must have at most six decimals",
  });

const name = (what: string) =>
  z.string({ error: `must be ${what}` }).min(1, `must be ${what}, not an empty text`);

/** The fields of a row with the prices of the billed parts: `input_audio_usd_per_million`, `web_searches_usd_per_thousand`, … */
const ofParts = Object.fromEntries(
  BILLED_PART_NAMES.map((
    name,
  ) => [priceFieldOf(name), (isTokenPart(name) ? usdPerMillion : usdPerThousand).optional()]),
) as Record<PartPriceField, z.ZodOptional<typeof usdPerMillion>>;

/**
 * One row of `prices` in the config. A missing price of a cache, images or video is the input price, a missing
 * one-hour price that of the other cache writes, and a missing price of reasoning the output price. Calls with audio,
 * media output, twelve-hour writes or searches are partly priced without a price of those. Without `from` the row applies at any time; of several, the latest whose
 * `from` (midnight UTC) has passed applies. With `service_tier` it prices only calls served at that tier.
 */
export const PriceOverride = z.strictObject({
  provider: name("the name of a provider"),
  model: name("the name of a model"),
  input_usd_per_million: usdPerMillion,
  output_usd_per_million: usdPerMillion,
  cache_read_usd_per_million: usdPerMillion.optional(),
  cache_write_usd_per_million: usdPerMillion.optional(),
  cache_write_1h_usd_per_million: usdPerMillion.optional(),
  reasoning_usd_per_million: usdPerMillion.optional(),
  ...ofParts,
  requests_usd_per_thousand: usdPerThousand.optional(),
  from: z.iso.date({ error: "must be a date such as 2026-01-01" }).optional(),
  service_tier: name("the name of a service tier").optional(),
});
export type PriceOverride = z.infer<typeof PriceOverride>;

/** All rows: no two may have the same provider, model, date and tier, since either could apply. */
export const PriceOverrides = z.array(PriceOverride).superRefine((rows, context) => {
  const seen = new Set<string>();
  rows.forEach(({ provider, model, from = "", service_tier = "" }, index) => {
    const key = JSON.stringify([provider, model, from, service_tier]);
    if (seen.has(key)) {
      const message = "repeats the provider, model, from and service_tier of an earlier price";
      context.addIssue({ code: "custom", path: [index], message });
    }
    seen.add(key);
  });
});
