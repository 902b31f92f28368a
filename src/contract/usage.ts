import { z } from "@hono/zod-openapi";
import { AgentId, CallId, CostUsd, Count, RunId, SessionId, Time } from "./parts.ts";

/** The wire schemas of tokens and cost, per call and summed. */

export const TokenUsage = z.object({
  input_tokens: Count,
  output_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd.openapi({
    description:
      "USD, of the calls with a known price; null where there were calls and none has one, 0 without calls",
  }),
  model: z.string().nullable().openapi({
    description: "The model; of an agent the one used most. Null before the first call",
  }),
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count,
  model_calls: Count,
  unpriced_calls: Count.openapi({
    description: "Number of calls without a known price, which `cost_usd` leaves out",
  }),
}).openapi("TokenUsage");
export type TokenUsage = z.infer<typeof TokenUsage>;

export const CostEvent = z.object({
  call_id: CallId,
  at: Time,
  agent_id: AgentId,
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  step: Count.nullable().openapi({ description: "Step of the run; null outside a run" }),
  tools: z.array(z.string()).openapi({ description: "Names of the tools that the model called" }),
  provider: z.string().openapi({ example: "openai" }),
  model: z.string().openapi({ example: "gpt-5-mini" }),
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count.openapi({ description: "Of `input_tokens`" }),
  cache_write_tokens: Count.openapi({ description: "Of `input_tokens`" }),
  reasoning_tokens: Count.openapi({ description: "Of `output_tokens`" }),
  total_tokens: Count,
  cost_usd: CostUsd,
  price_source: z.string().openapi({
    description: "Source of the price; `reported` if it came with the call",
  }),
  duration_ms: z.number().nullable(),
  estimated: z.boolean().openapi({
    description: "True where the tokens are an estimate, since the provider's count never arrived",
  }),
}).openapi("CostEvent");
export type CostEvent = z.infer<typeof CostEvent>;
