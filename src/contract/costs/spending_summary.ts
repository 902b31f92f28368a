import { z } from "@hono/zod-openapi";
import { CostTotal } from "../costs.ts";
import { Usd } from "../parts.ts";

/** The wire schema of the spending that one line shows. */

export const SpendingSummary = z.object({
  session: CostTotal.optional().openapi({ description: "The calls of the session; absent if none is given" }),
  today: CostTotal.openapi({
    description: "The calls since midnight of the time zone of the server, UTC unless set",
  }),
  budget: z.object({ name: z.string(), left_usd: Usd }).nullable().openapi({
    description: "The budget that would refuse the session's next call first; null where none counts it",
  }),
}).openapi("SpendingSummary");
export type SpendingSummary = z.infer<typeof SpendingSummary>;
