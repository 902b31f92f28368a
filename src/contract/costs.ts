import { COST_SORTS, GROUPINGS, SPLITS } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { TagGroup } from "./tags/tag_schemas.ts";
import { dimension } from "./costs/dimensions.ts";
import { groupFields, nameFields } from "./costs/dimension_fields.ts";
import { CostUsd, Count, PlanUsd, Time } from "./parts.ts";

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
  lower_bound_calls: Count.openapi({
    description:
      "Calls that only logs and exported spans have seen. These leave out some: the sums are lower bounds",
  }),
  plan_usd: PlanUsd.optional(),
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
  ...groupFields,
  ...nameFields((kind) => ({
    description: `The name of that ${kind}; null for the calls without one`,
    example: dimension(kind).example,
  })),
  first_at: Time.optional().openapi({
    description: "Of a session or a run: the time of its first call in the span",
  }),
  last_at: Time.optional().openapi({ description: "Of the same: the time of its last call in the span" }),
  source: z.string().nullable().optional().openapi({
    description: "Where the calls were booked from; null for calls of versions that did not record it",
    example: "gateway",
  }),
  hour: Time.optional(),
  day: z.string().optional().openapi({ format: "date", example: "2026-11-21" }),
  week: z.string().optional().openapi({
    format: "date",
    description: "Its first day",
    example: "2026-11-16",
  }),
  month: z.string().optional().openapi({
    format: "date",
    description: "Its first day",
    example: "2026-11-01",
  }),
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

export const Grouping = z.enum(GROUPINGS);
export const Split = z.enum(SPLITS);

/** Groups of cost reports, also those by a tag. */
export const CostGroup = z.union([Grouping, TagGroup]);
export type CostGroup = z.infer<typeof CostGroup>;
export const CostSplit = z.union([Split, TagGroup]);
export const CostSort = z.enum(COST_SORTS);
