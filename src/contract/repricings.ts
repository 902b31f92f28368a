import { z } from "@hono/zod-openapi";
import { AgentId, CostUsd, Count, id, Time, Usd } from "./parts.ts";
import { REPRICING_STATUSES } from "./values.ts";

/** The wire schemas of repricings. */

export const RepricingId = id("rep_01k9qv3v6a5c7e9g1j3m5p7r9t");

const BodyTime = z.union([z.iso.datetime({ offset: true }), z.iso.date()])
  .openapi({ type: "string", example: "2026-11-21" });

/** The calls of a repricing, as given. */
export const RepricingFilter = z.strictObject({
  unpriced: z.boolean().optional().openapi({
    description: "Only calls of which the price, or a part of it, is not known so far",
  }),
  from: BodyTime.optional().openapi({ description: "Inclusive; a date, or a time with its zone" }),
  to: BodyTime.optional().openapi({ description: "Exclusive; a date, or a time with its zone" }),
  provider: z.string().optional().openapi({ example: "openai" }),
  model: z.string().optional().openapi({
    description: "The model, or `provider:model`",
    example: "gpt-6-luna",
  }),
  agent_id: AgentId.optional(),
  estimated: z.boolean().optional().openapi({
    description: "Only calls whose tokens are an estimate, or only others; default: both",
  }),
  include_reported: z.boolean().optional().openapi({
    description: "Also calls whose cost was reported with them, or stated by the provider",
  }),
}).openapi("RepricingFilter");
export type RepricingFilter = z.infer<typeof RepricingFilter>;

export const RepricingBody = z.strictObject({
  ...RepricingFilter.shape,
  apply: z.boolean().optional().openapi({
    description: "Books the differences; without it nothing is changed, and the answer is what would be",
  }),
}).superRefine(({ unpriced, from, to }, ctx) => {
  if (!unpriced && (from === undefined || to === undefined)) {
    ctx.addIssue({ code: "custom", path: ["unpriced"], message: "must be true, or give both from and to" });
  }
  if (from !== undefined && to !== undefined && Date.parse(from) > Date.parse(to)) {
    ctx.addIssue({ code: "custom", path: ["from"], message: "is later than to" });
  }
}).openapi("RepricingBody");
export type RepricingBody = z.infer<typeof RepricingBody>;

const sums = {
  calls: Count.openapi({ description: "Number of calls that were priced again" }),
  changed_calls: Count.openapi({ description: "Those of them whose cost changes" }),
  unpriced_calls_before: Count,
  unpriced_calls_after: Count.openapi({ description: "Calls that still have no known price" }),
  partly_priced_calls_before: Count,
  partly_priced_calls_after: Count,
  cost_usd_before: CostUsd,
  cost_usd_after: CostUsd,
};

export const RepricedModel = z.object({ provider: z.string(), model: z.string(), ...sums })
  .openapi("RepricedModel");
export type RepricedModel = z.infer<typeof RepricedModel>;

export const Repricing = z.object({
  repricing_id: RepricingId.nullable().openapi({
    description: "Null for a dry run, and where no cost would change: these are not stored",
  }),
  status: z.enum(REPRICING_STATUSES).openapi({
    description:
      "`dry_run`: nothing was booked, also where `apply` was given and no cost would change. `applying` and `undoing` are " +
      "continued by the next request to apply or undo it",
  }),
  filter: RepricingFilter,
  ...sums,
  difference_usd: Usd.openapi({ description: "Change of the total cost" }),
  models: z.array(RepricedModel).openapi({ description: "At most 500, the largest change first" }),
  created_at: Time,
  applied_at: Time.nullable(),
  undone_at: Time.nullable(),
}).openapi("Repricing");
export type Repricing = z.infer<typeof Repricing>;
