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

export const Grouping = z.enum(GROUPINGS);
