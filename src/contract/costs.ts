import { COST_SORTS, GROUPINGS, SPLITS } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { TagGroup } from "./tags/tag_schemas.ts";
import { AgentId, CostUsd, Count, RunId, SessionId, Time } from "./parts.ts";

/** The wire schemas of the ledger's sums. */

const sums = {
  model_calls: Count,
  unpriced_calls: Count,
  partly_priced_calls: Count,
  estimated_calls: Count.openapi({ description: "Calls whose usage is an estimate" }),
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
};

export const CostSums = z.object(sums).openapi("CostSums", { description: "Calls, tokens and cost" });
export type CostSums = z.infer<typeof CostSums>;

const comparison = {
  previous: CostSums.optional().openapi({ description: "The sums of the span from `compare_from`" }),
  difference_usd: CostUsd.optional().openapi({
    description: "`cost_usd` minus that of `previous`, exact; null where one of them is",
  }),
};

export const CostRow = z.object({
  agent_id: AgentId.optional(),
  session_id: SessionId.optional(),
  run_id: RunId.optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  key_id: z.string().nullable().optional().openapi({
    description: "The API key that requested the calls; null for the calls without one",
    example: "key_01k9qv3v8c7e9g1j3m5p7r9t1w",
  }),
  hour: Time.optional(),
  day: z.string().optional().openapi({ format: "date", example: "2026-11-21" }),
  tag_key: z.string().optional().openapi({ example: "customer" }),
  tag_value: z.string().nullable().optional().openapi({
    description: "Value of the tag; null for the calls without it",
    example: "acme",
  }),
  ...sums,
  ...comparison,
}).openapi("CostRow", {
  description:
    "Calls, tokens and cost of a group; of the optional fields it has those that identify the group",
});
export type CostRow = z.infer<typeof CostRow>;

export const CostTotal = z.object({
  from: Time.nullable().openapi({ description: "Inclusive; null: from the first call on" }),
  to: Time.nullable().openapi({ description: "Exclusive; null: up to the newest call" }),
  ...sums,
  ...comparison,
}).openapi("CostTotal", { description: "Calls, tokens and cost of all calls that match" });
export type CostTotal = z.infer<typeof CostTotal>;

export const CostForecast = z.object({
  month: z.string().openapi({ description: "The current month, UTC", example: "2026-11" }),
  from: Time.openapi({ description: "Start of the month" }),
  to: Time.openapi({ description: "End of the month, exclusive" }),
  as_of: Time.openapi({ description: "Time of the forecast" }),
  pace_from: Time.nullable().openapi({
    description:
      "Start of the span whose pace is taken: that of the month, or of the day of the very first call; " +
      "null before it",
  }),
  unpriced_calls: Count.openapi({ description: "Calls of the month that `cost_usd` leaves out" }),
  partly_priced_calls: Count.openapi({
    description: "Calls of the month of which `cost_usd` leaves out a part",
  }),
  cost_usd: CostUsd.openapi({ description: "USD spent in the month so far" }),
  forecast_usd: CostUsd.openapi({
    description:
      "By pace: `cost_usd`, and the same amount for each remaining millisecond of the month as was spent per " +
      "millisecond from `pace_from` to `as_of`; null until these are a day apart, and before three days of calls",
  }),
  weekday_forecast_usd: CostUsd.openapi({
    description:
      "By weekdays: `cost_usd`, and for each remaining day the median of the same weekday in the last four " +
      "weeks; null before three days of calls",
  }),
  low_usd: CostUsd.openapi({ description: "The lower one of both" }),
  high_usd: CostUsd.openapi({ description: "The higher one of both" }),
}).openapi("CostForecast", { description: "An estimate, not a sum of calls" });
export type CostForecast = z.infer<typeof CostForecast>;

const HitRate = z.number().min(0).max(1).nullable().openapi({
  description: "Input tokens that were read from a cache, as a share of all; null without input",
  example: 0.62,
});

const caching = {
  input_tokens: Count.openapi({ description: "Those of the cache included" }),
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  hit_rate: HitRate,
  saved_usd: CostUsd.openapi({
    description:
      "USD that the same input would have cost more without a cache; negative where writes cost more than reads " +
      "saved; null where no price is known",
  }),
  possible_usd: CostUsd.openapi({
    description:
      "USD that the rest of the input would cost less if all of it were read from a cache, at most",
  }),
};

export const CachingRow = z.object({
  agent_id: AgentId.optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  ...caching,
}).openapi("CachingRow");
export type CachingRow = z.infer<typeof CachingRow>;

export const Caching = z.object({
  from: Time.nullable(),
  to: Time.nullable(),
  ...caching,
  rows: z.array(CachingRow).openapi({ description: "The groups with the most input first" }),
  notes: z.array(z.string()).openapi({ description: "What the estimate can't know, in sentences" }),
}).openapi("Caching", { description: "What prompt caches saved, at the present rates of each model" });
export type Caching = z.infer<typeof Caching>;

export const WhatIf = z.object({
  model: z.string().openapi({ description: "The other model", example: "openai:gpt-5-mini" }),
  price_source: z.string().openapi({ description: "Source of its rates, and their date" }),
  rows: z.array(
    z.object({
      ...CostRow.shape,
      what_if_cost_usd: CostUsd.openapi({
        description:
          "USD that the same tokens would cost on the other model; null where it has no output price",
      }),
    }).openapi("WhatIfRow"),
  ).openapi({ description: "As in `GET /costs`" }),
  notes: z.array(z.string()).openapi({ description: "What the comparison can't know, in sentences" }),
}).openapi("WhatIf");
export type WhatIf = z.infer<typeof WhatIf>;

export const Grouping = z.enum(GROUPINGS);
export const Split = z.enum(SPLITS);

/** Groups of cost reports, also those by a tag. */
export const CostGroup = z.union([Grouping, TagGroup]);
export type CostGroup = z.infer<typeof CostGroup>;
export const CostSplit = z.union([Split, TagGroup]);
export const CostSort = z.enum(COST_SORTS);
