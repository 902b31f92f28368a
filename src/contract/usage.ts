import { z } from "@hono/zod-openapi";
import { AgentId, CallId, CostUsd, Count, PlanUsd, RunId, SessionId, Time, Usd } from "./parts.ts";
import { STATED_COST_REASONS } from "./costs/stated_costs.ts";
import { BILLED_PART_NAMES, BILLED_PARTS, type BilledPart } from "./billed_parts.ts";
import { CallTags } from "./tags/tag_schemas.ts";
import { CALL_OUTCOMES, CALL_SOURCES } from "./values.ts";

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
  plan_usd: PlanUsd.optional(),
}).openapi("TokenUsage");
export type TokenUsage = z.infer<typeof TokenUsage>;

/** The billed parts of a call beyond text tokens, each missing where it is 0. */
export function billedParts<Part extends z.ZodType>(part: Part) {
  return Object.fromEntries(
    BILLED_PART_NAMES.map((name) => [name, part.optional().openapi({ description: BILLED_PARTS[name] })]),
  ) as Record<BilledPart, z.ZodOptional<Part>>;
}

/** The most other models and other counts of one call. */
const MAX_OTHERS = 20;

/** The parts of a call beside the counts of its own model; a call without a part leaves out its field. */
export const otherParts = <Part extends z.ZodType>(
  part: Part,
  object: typeof z.object | typeof z.strictObject,
) => ({
  other_counts: z.record(z.string().min(1).max(100), part).optional().openapi({
    description:
      `Counts that the answer names and no price is known for, by the name of their field; at most ${MAX_OTHERS}`,
    example: { "server_tool_use.new_tool_requests": 2 },
  }),
  other_models: z.array(object({
    model: z.string().min(1).max(200),
    input_tokens: part,
    output_tokens: part,
    cache_read_tokens: part.optional(),
    cache_write_tokens: part.optional(),
    cache_write_1h_tokens: part.optional(),
    reasoning_tokens: part.optional(),
    ...billedParts(part),
  })).max(MAX_OTHERS).optional().openapi({
    description:
      "What other models have done in the call, such as an advisor or an image generator, billed at their prices. " +
      "The other counts of the call leave it out",
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
  at: Time.openapi({
    description:
      "When the call was sent; of a log that knows no other time, when it was answered. With `duration_ms`, its end",
  }),
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
  // A text: generated clients must not fail on a way that is added later.
  billing: z.string().optional().openapi({
    description:
      "`plan` where a subscription pays for the call, so that its `cost_usd` is 0; absent where the call is billed",
    example: "plan",
  }),
  plan_usd: CostUsd.optional().openapi({
    description:
      "USD that a call of a plan would cost by the API, null without a known price; absent where the call is billed",
  }),
  price_source: z.string().openapi({
    description: "Source of the price; `reported` if it came with the call",
  }),
  duration_ms: z.number().nullable().openapi({
    description: "Until its answer was complete; null where that is not known",
  }),
  estimated: z.boolean().openapi({
    description: "True where the tokens are an estimate, since the provider's count never arrived",
  }),
  ...billedParts(Count),
  ...otherParts(Count, z.object),
  ...servedAs(z.string()),
  requested_service_tier: z.string().optional().openapi({
    description: "Service tier that was asked for, where another one was used",
  }),
  response_id: z.string().optional().openapi({ description: "The provider's id of the answer" }),
  request_id: z.string().optional().openapi({ description: "The provider's id of the request" }),
  upstream_id: z.string().optional().openapi({
    description: "The credential and the account that paid for the call: see `GET /upstreams`",
    example: "ups_04b1c9e2d3a47",
  }),
  // A text: generated clients must not fail on an outcome that is added later.
  outcome: z.string().optional().openapi({
    description: `How a call ended that didn't complete: ${
      CALL_OUTCOMES.join(", ")
    }; others may follow. Absent of complete calls, and of those before 0.2.0`,
    example: "cut",
  }),
  http_status: z.number().optional().openapi({
    description: "Status with which a failed call was answered",
  }),
  // A text: generated clients must not fail on a source that is added later.
  source: z.string().optional().openapi({
    description: `Where the call was booked from: ${CALL_SOURCES.join(", ")}; others may follow`,
    example: "run",
  }),
  unpriced_parts: z.array(z.string()).optional().openapi({
    description:
      "Parts of the usage without a known price, which `cost_usd` leaves out, and what their price depends on",
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
  // A text: generated clients must not fail on a quality that is added later.
  quality: z.string().optional().openapi({
    description:
      "How the counts are known, unless exactly: `derived` from sums, `provisional` of a call that went on, `aggregate` of several calls, `cost_only`; others may follow",
    example: "provisional",
  }),
  marks: z.array(z.string()).optional().openapi({
    description: "What its source could not say",
    example: ["input_unknown"],
  }),
  tags: CallTags.optional().openapi({ description: "Tags of the call; absent without any" }),
}).openapi("CostEvent");
export type CostEvent = z.infer<typeof CostEvent>;

/** The part of a call that another model has done. */
export type OtherModel = NonNullable<CostEvent["other_models"]>[number];
