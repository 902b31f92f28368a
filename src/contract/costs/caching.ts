import { z } from "@hono/zod-openapi";
import { AgentId, CostUsd, Count, Time } from "../parts.ts";

/** The wire schemas of the savings by prompt caches. */

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
