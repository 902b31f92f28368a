import { GROUPINGS } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { AgentId, CostUsd, Count, RunId, SessionId, Time } from "./parts.ts";

/** The wire schemas of the ledger's sums. */

export const CostRow = z.object({
  agent_id: AgentId.optional(),
  session_id: SessionId.optional(),
  run_id: RunId.optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  hour: Time.optional(),
  day: z.string().optional().openapi({ format: "date", example: "2026-11-21" }),
  model_calls: Count,
  unpriced_calls: Count,
  partly_priced_calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
}).openapi("CostRow", {
  description:
    "Calls, tokens and cost of a group; of the optional fields it has those that identify the group",
});
export type CostRow = z.infer<typeof CostRow>;

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
