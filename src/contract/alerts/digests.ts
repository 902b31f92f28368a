import { z } from "@hono/zod-openapi";
import { CostUsd, Count, Time } from "../parts.ts";
import { DIGEST_PERIODS } from "../values.ts";

/** The wire schema of a digest of the spending. */

const Share = z.object({ name: z.string().nullable(), cost_usd: CostUsd });

export const Digest = z.object({
  period: z.enum(DIGEST_PERIODS),
  from: Time.openapi({ description: "The start of the last whole day or week of the server's time zone" }),
  to: Time,
  time_zone: z.string().openapi({ example: "Europe/Berlin" }),
  title: z.string(),
  facts: z.array(z.object({ label: z.string(), value: z.string() })).openapi({
    description: "The lines that channels show",
  }),
  cost_usd: CostUsd,
  cost_usd_before: CostUsd.openapi({ description: "Of the day or week before" }),
  model_calls: Count,
  unpriced_calls: Count.openapi({ description: "Calls that `cost_usd` leaves out" }),
  forecast_usd: CostUsd.openapi({ description: "Of the present month, at its pace so far" }),
  people: z.array(Share).openapi({
    description: "By the tag `user`, the dearest first; null: calls without it",
  }),
  teams: z.array(Share).openapi({ description: "By the tag `team`" }),
  sessions: z.array(Share).openapi({ description: "The dearest sessions" }),
}).openapi("Digest");
export type Digest = z.infer<typeof Digest>;

export const DigestQuery = z.strictObject({
  period: z.enum(DIGEST_PERIODS).default("daily").openapi({ description: "Default `daily`" }),
});
