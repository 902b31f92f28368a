import { z } from "zod";
import { priceName } from "./price_name.ts";
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

const day = z.iso.date({ error: "must be a date such as 2026-01-01" });

/** A share of a price: a whole number of millionths. */
const percent = z.number({ error: "must be a number of percent, such as -12" })
  .min(-99.9999, "must be above -100")
  .max(1_000, "must be at most 1000")
  .refine((value) => Number(value.toFixed(4)) === value, { error: "must have at most four decimals" });

/** The conditions that a contract has besides those of a price. */
const CONTRACT_ONLY = ["region", "until"] as const;

type Issues = { addIssue(issue: { code: "custom"; path: PropertyKey[]; message: string }): void };

/** Checks that a row has the rates of a model or the change of a contract, and not both. */
function checkRow(row: z.infer<typeof PriceRowFields>, { addIssue }: Issues): void {
  const refuse = (field: string, message: string) => addIssue({ code: "custom", path: [field], message });
  if (row.change_percent === undefined) {
    for (const field of ["input_usd_per_million", "output_usd_per_million"] as const) {
      if (row[field] === undefined) refuse(field, "must be a number of USD per million tokens");
    }
    for (const field of CONTRACT_ONLY) {
      if (row[field] !== undefined) refuse(field, "is a condition of a contract: it needs change_percent");
    }
    return;
  }
  for (const field of Object.keys(row)) {
    if (/_usd_per_/.test(field)) refuse(field, "cannot be combined with change_percent; remove one of them");
  }
  const { from, until } = row;
  if (from !== undefined && until !== undefined && from >= until) refuse("until", "must be after from");
}

/**
 * One row of `prices` in the config. A missing price of a cache, images or video is the input price, a missing
 * one-hour price that of the other cache writes, and a missing price of reasoning the output price. Calls with audio,
 * media output, twelve-hour writes or searches are partly priced without a price of those. Without `from` the row applies at any time; of several, the latest whose
 * `from` (midnight UTC) has passed applies. With `service_tier` it prices only calls served at that tier.
 *
 * With `change_percent` it has no rates: it is what a contract changes, -12 for a discount of 12%, 10 for a premium of 10%, of
 * every listed rate of the provider's calls that meet its conditions: `model`, which may be a pattern such as `*`,
 * `service_tier`, `region` (a name or a pattern), from `from` to `until`. Of several the one with the most conditions counts, and of equals the
 * latest; they don't add up. Rates that people have set stay as they are.
 */
export const PriceRowFields = z.strictObject({
  provider: name("the name of a provider"),
  model: name("the name of a model"),
  input_usd_per_million: usdPerMillion.optional(),
  output_usd_per_million: usdPerMillion.optional(),
  cache_read_usd_per_million: usdPerMillion.optional(),
  cache_write_usd_per_million: usdPerMillion.optional(),
  cache_write_1h_usd_per_million: usdPerMillion.optional(),
  reasoning_usd_per_million: usdPerMillion.optional(),
  ...ofParts,
  requests_usd_per_thousand: usdPerThousand.optional(),
  from: day.optional(),
  service_tier: name("the name of a service tier").optional(),
  change_percent: percent.optional(),
  region: name("the name of a region").optional(),
  until: day.optional(),
});

/** A row that was checked. */
export const PriceOverride = PriceRowFields.superRefine(checkRow);
export type PriceOverride = z.infer<typeof PriceOverride>;

/** All rows: no two may have the same provider, model, date, tier and region, since either could apply. */
export const PriceOverrides = z.array(PriceOverride).superRefine((rows, context) => {
  const seen = new Set<string>();
  rows.forEach((row, index) => {
    const key = priceName(row);
    if (seen.has(key)) {
      const message = "repeats the provider, model, from and service_tier of an earlier price";
      context.addIssue({ code: "custom", path: [index], message });
    }
    seen.add(key);
  });
});
