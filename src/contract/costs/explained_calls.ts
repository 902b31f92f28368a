import { z } from "@hono/zod-openapi";
import { CallId, CostUsd, Count, orNull, Time, Usd } from "../parts.ts";
import { RepricingId } from "../repricings.ts";
import { CostEvent } from "../usage.ts";
import { Upstream } from "./upstreams.ts";

/** The wire schemas of the cost of one call, explained. */

const ExactUsd = Usd.openapi({ description: "USD, at most twelve decimals" });

export const PriceLine = z.object({
  part: z.string().openapi({ description: "The part of the usage", example: "cache_read_tokens" }),
  model: z.string().optional().openapi({ description: "The model of the part, where it is another one" }),
  quantity: Count.openapi({ description: "Tokens or counts that no other line has" }),
  rate_usd: Usd.nullable().openapi({ description: "USD for each `per`; null where no price is known" }),
  per: z.number().int().openapi({ description: "1000000 for tokens, 1000 for searches, else 1" }),
  cost_usd: ExactUsd.nullable(),
}).openapi("PriceLine");
export type PriceLine = z.infer<typeof PriceLine>;

export const RateCard = z.object({
  source: z.string().openapi({ description: "Source of the prices and its date" }),
  sources: z.record(z.string(), z.string()).optional().openapi({
    description: "The parts whose rates are of another source, and that source",
    example: { web_searches: "litellm@2026-11-12" },
  }),
  model: z.string().optional().openapi({ description: "The model in the source, where its name differs" }),
  tier: z.object({
    number: Count.openapi({ description: "From 1" }),
    of: Count,
    above_input_tokens: Count.nullable().openapi({ description: "Null for the first tier" }),
  }).openapi({ description: "The tier of the context length that applied" }),
  unknown: z.array(z.string()).optional().openapi({
    description: "How the call was served for which the source has no rates, such as `service_tier`",
  }),
}).openapi("RateCard");

/** The kinds of prices of a call. */
export const PRICE_BASES = ["rates", "stated", "reported", "not_kept", "none"] as const;

export const ExplainedPrice = z.object({
  basis: z.enum(PRICE_BASES).openapi({
    description:
      "`rates`: by the rate card. `stated`: by the provider, beside the card where there is one. " +
      "`reported`: the cost came with the call. `not_kept`: booked before rates were kept. `none`: no price was known",
  }),
  cost_usd: CostUsd.openapi({
    description: "USD; of a call that a plan pays for, what it would cost by the API",
  }),
  price_source: z.string(),
  rate_card: orNull(RateCard),
  lines: z.array(PriceLine),
  sum_usd: ExactUsd.nullable().openapi({
    description: "Sum of the lines, before it is rounded half to even",
  }),
  computed_usd: CostUsd.openapi({ description: "The sum, rounded to nine decimals" }),
  difference_usd: Usd.nullable().openapi({
    description:
      "What is stored less what was computed again, 0 unless the ledger is damaged; null where rates are not kept",
  }),
  unpriced_parts: z.array(z.string()).optional(),
  list_cost_usd: Usd.optional(),
  billing: z.string().optional().openapi({ description: "`plan` where a plan pays for it" }),
}).openapi("ExplainedPrice");
export type ExplainedPrice = z.infer<typeof ExplainedPrice>;

export const ExplainedAdjustment = z.object({
  adjustment_id: CallId,
  repricing_id: RepricingId.nullable(),
  is_undo: z.boolean().openapi({ description: "True for the opposite of an earlier adjustment" }),
  is_amendment: z.boolean().openapi({ description: "True where a witness has corrected the counts" }),
  at: Time.nullable().openapi({ description: "Time of the repricing" }),
  difference_usd: Usd.openapi({ description: "What it adds to the cost" }),
  plan_difference_usd: Usd.optional().openapi({
    description: "What it adds to what a plan pays for; absent where that is nothing",
  }),
  price: ExplainedPrice.openapi({ description: "The price after it" }),
}).openapi("ExplainedAdjustment");
export type ExplainedAdjustment = z.infer<typeof ExplainedAdjustment>;

export const WitnessOfCall = z.object({
  witness: z.string().openapi({
    description: "Source, name and ref",
    example: "log:claude-code:msg_01ABcdEF",
  }),
  said: z.array(z.object({
    at: Time,
    agent_id: z.string(),
    session_id: z.string().nullable(),
    provider: z.string().nullable().openapi({ description: "Null where the witness doesn't know who bills" }),
    model: z.string().nullable(),
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    cache_write_1h_tokens: Count,
    reasoning_tokens: Count,
    quality: z.string().openapi({ description: "How it knows its counts; see `quality` of a cost event" }),
    is_copy: z.boolean().openapi({ description: "True in a session that has copied the call" }),
    billing: z.string().optional().openapi({ description: "`plan` where it says that a plan pays" }),
    tags: z.record(z.string(), z.string()),
  })).openapi({ description: "What it has said, the best statement first" }),
}).openapi("WitnessOfCall");
export type WitnessOfCall = z.infer<typeof WitnessOfCall>;

export const ExplainedCall = z.object({
  call: CostEvent.openapi({ description: "The call with its cost as adjusted" }),
  upstream: orNull(Upstream).openapi({
    description: "The credential and the account that paid for it; null where they are not known",
  }),
  booked: ExplainedPrice.openapi({ description: "The price that it was booked with" }),
  adjustments: z.array(ExplainedAdjustment).openapi({
    description: "In the order in which they were booked",
  }),
  witnesses: z.array(WitnessOfCall).openapi({
    description: "The logs, spans and reports that have seen the call, beside the caller",
  }),
  replaced: z.array(CostEvent).openapi({
    description: "The calls that were taken back for this one, as they were booked",
  }),
}).openapi("ExplainedCall");
export type ExplainedCall = z.infer<typeof ExplainedCall>;
