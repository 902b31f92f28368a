import { z } from "@hono/zod-openapi";
import { Count, orNull, Time, Usd } from "./parts.ts";
import { PriceRowFields } from "./price_override.ts";

/** The wire schemas of prices. */

const Day = z.string().openapi({ format: "date", example: "2026-11-10" });

export const PriceSource = z.object({
  name: z.enum(["genai-prices", "litellm"]),
  date: Day.openapi({ description: "The day of the prices" }),
  age_days: Count,
  origin: z.enum(["release", "update"]).openapi({
    description: "`release`: the prices are those of this version; `update`: of `purser prices update`",
  }),
  url: z.string().nullable(),
  models: Count.openapi({ description: "Number of models with prices" }),
}).openapi("PriceSource");
export type PriceSource = z.infer<typeof PriceSource>;

export const SetPrice = PriceRowFields.extend({
  price_id: z.string().openapi({ example: "prc_9f86d081884c7d659a2feaa0c5" }),
  name: z.string().openapi({
    description:
      "What it is identified by: the model, the service tier, the region of a contract, and the first day",
    example: "openai:gpt-6-luna from 2026-11-01",
  }),
  created_at: Time,
  updated_at: Time,
}).openapi("SetPrice");
export type SetPrice = z.infer<typeof SetPrice>;

export const PriceRate = z.object({
  part: z.string().openapi({ description: "The part of a call's usage", example: "input_tokens" }),
  usd: Usd,
  per: Count.openapi({ description: "The number of tokens or counts that cost this: 1000000 or 1000" }),
  source: z.string().openapi({
    description:
      "Where the rate is listed: `database`, `config`, `demo`, or a source and its date; `rule` of a rate that isn't, and follows from " +
      "others by a provider's rule",
    example: "litellm@2026-11-12",
  }),
}).openapi("PriceRate");
export type PriceRate = z.infer<typeof PriceRate>;

const PriceTier = z.object({
  above_input_tokens: Count.openapi({
    description: "The rates apply to all of a call with more input tokens than this; 0 for the first tier",
  }),
  rates: z.array(PriceRate),
}).openapi("PriceTier");

export const PriceVariant = z.object({
  served: z.string().openapi({
    description: "`service_tier`, `speed` or `inference_geo`, and its value",
    example: "service_tier=flex",
  }),
  tiers: z.array(PriceTier),
}).openapi("PriceVariant");
export type PriceVariant = z.infer<typeof PriceVariant>;

export const PriceCard = z.object({
  provider: z.string().openapi({ example: "openai" }),
  model: z.string().openapi({ example: "gpt-6-luna" }),
  at: Time,
  source: z.string().openapi({
    description:
      "The `price_source` of calls, which is that of their input tokens: `database`, `config`, `demo`, or a source and its date",
    example: "genai-prices@2026-11-10",
  }),
  matched_model: z.string().openapi({ description: "The id of the model in the source" }),
  ends_on: Day.nullable().openapi({
    description:
      "The day on which the provider ends the model, or has ended it; null where the prices have none",
  }),
  is_deprecated: z.boolean().openapi({
    description:
      "True if the provider has ended the model, or advises against it, also where no day is known",
  }),
  tiers: z.array(PriceTier).openapi({ description: "By the number of input tokens of a call, ascending" }),
  variants: z.array(PriceVariant).openapi({ description: "The calls that are billed at other rates" }),
  unpriced: z.array(z.string()).openapi({
    description: "The parts of a usage without a rate: a call that has one is partly priced",
  }),
}).openapi("PriceCard");
export type PriceCard = z.infer<typeof PriceCard>;

export const PriceReport = z.object({
  sources: z.array(PriceSource).openapi({
    description: "In the order in which they apply to a rate that several have",
  }),
  price: orNull(PriceCard).openapi({ description: "The rates of `model`; null without one" }),
}).openapi("PriceReport");
export type PriceReport = z.infer<typeof PriceReport>;
