import { z } from "@hono/zod-openapi";
import { AgentId, CallId, CostUsd, Count, RunId, SessionId, Time, Usd } from "./parts.ts";
import { STATED_COST_REASONS } from "./stated_costs.ts";
import { Tags } from "./tags/tag_schemas.ts";
import { CALL_SOURCES } from "./values.ts";

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
  partly_priced_calls: Count.openapi({
    description: "Number of calls of which `cost_usd` leaves out a part that has no known price",
  }),
}).openapi("TokenUsage");
export type TokenUsage = z.infer<typeof TokenUsage>;

/** The billed parts of a call beyond text tokens, each missing where it is 0. */
export const billedParts = <Part extends z.ZodType>(tokens: Part, calls: Part) => ({
  cache_write_12h_tokens: tokens.optional().openapi({
    description: "Those of `cache_write_tokens` that are cached for twelve hours",
  }),
  input_audio_tokens: tokens.optional().openapi({ description: "Of `input_tokens`" }),
  cache_read_audio_tokens: tokens.optional().openapi({
    description: "Of `cache_read_tokens` and `input_audio_tokens`",
  }),
  input_image_tokens: tokens.optional().openapi({ description: "Of `input_tokens`" }),
  cache_read_image_tokens: tokens.optional().openapi({
    description: "Of `cache_read_tokens` and `input_image_tokens`",
  }),
  input_video_tokens: tokens.optional().openapi({ description: "Of `input_tokens`" }),
  output_audio_tokens: tokens.optional().openapi({ description: "Of `output_tokens`" }),
  output_image_tokens: tokens.optional().openapi({ description: "Of `output_tokens`" }),
  output_video_tokens: tokens.optional().openapi({ description: "Of `output_tokens`" }),
  web_searches: calls.optional().openapi({ description: "Web searches that the provider bills" }),
  file_searches: calls.optional().openapi({ description: "File searches that the provider bills" }),
  code_executions: calls.optional().openapi({ description: "Code executions that the provider bills" }),
  advisor_calls: calls.optional().openapi({
    description: "Calls of another model by Anthropic's advisor tool, whose cost is not known",
  }),
});

/** The fields for how a provider has served a call. */
export const servedAs = (text: z.ZodString) => ({
  service_tier: text.optional().openapi({
    description: "Service tier that the provider used",
    example: "flex",
  }),
  speed: text.optional().openapi({ description: "Anthropic's speed, where it is not standard" }),
  inference_geo: text.optional().openapi({ description: "Region that Anthropic has served the call from" }),
});

export const CostEvent = z.object({
  call_id: CallId,
  at: Time,
  agent_id: AgentId,
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  step: Count.nullable().openapi({ description: "Step of the run; null outside a run" }),
  tools: z.array(z.string()).openapi({ description: "Names of the tools that the model called" }),
  provider: z.string().openapi({ example: "openai" }),
  model: z.string().openapi({ example: "gpt-6-luna" }),
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
  ...billedParts(Count, Count),
  ...servedAs(z.string()),
  // A text: generated clients must not fail on a source that is added later.
  source: z.string().optional().openapi({
    description: `Where the call was booked from: ${CALL_SOURCES.join(", ")}; others may follow`,
    example: "run",
  }),
  unpriced_parts: z.array(z.string()).optional().openapi({
    description: "Parts of the usage without a known price, which `cost_usd` leaves out",
    example: ["web_searches"],
  }),
  list_cost_usd: Usd.optional().openapi({
    description: "Cost by the known prices, where `cost_usd` is the one that the provider has stated",
  }),
  stated_cost_usd: Usd.optional().openapi({
    description:
      "Cost that the provider or the reporter has stated and that was not booked, where it differs by more than 1% from `cost_usd`",
  }),
  // A text: generated clients must not fail on a reason that is added later.
  stated_cost_reason: z.string().optional().openapi({
    description: `Why it was not booked: ${STATED_COST_REASONS.join(", ")}; others may follow`,
    example: "undocumented",
  }),
  tags: Tags.optional().openapi({ description: "Tags of the call; absent without any" }),
}).openapi("CostEvent");
export type CostEvent = z.infer<typeof CostEvent>;
