import { z } from "@hono/zod-openapi";
import { MAX_CALL_USD } from "../booking/mod.ts";
import { AGENT_DEFAULTS } from "../agents/mod.ts";
import { GROUPINGS } from "../ledger/mod.ts";
import {
  AgentId,
  CallId,
  CostUsd,
  Count,
  Label,
  name,
  RunId,
  SessionId,
  Time,
  Usd,
  UsdLimit,
} from "./schema_parts.ts";
import { BUDGET_MODES, BudgetMode, TokenUsage } from "./session_schemas.ts";

/**
 * The wire's schemas: what routes take and give, and what the OpenAPI document says of it. What comes in has no
 * field that is not known; what goes out may have more of them one day. A body's defaults are told in words: many
 * generators of clients take a field with a `default` for one that has to be sent.
 */
export * from "./alert_schemas.ts";
export * from "./session_schemas.ts";

export const AgentBody = z.strictObject({
  name: z.string().optional().openapi({ description: "If given, the agent's id" }),
  model: z.string().min(1).openapi({
    description: "`provider:model`, or a name that only one provider has",
    example: "demo:echo",
  }),
  system_prompt: z.string().refine((text) => !text.includes("\0"), "must not contain NUL").optional().openapi(
    {
      description: "Empty if not given",
    },
  ),
  cost_budget_usd: UsdLimit.nullish().openapi({
    type: ["number", "null"],
    description: "What one run may cost, in USD, at most nine decimals; null for no limit",
  }),
  budget_mode: BudgetMode.optional().openapi({
    description: `${BUDGET_MODES}; \`${AGENT_DEFAULTS.budgetMode}\` if not given`,
  }),
  allow_unpriced: z.boolean().optional().openapi({
    description:
      "Whether calls without a known price are let through in spite of the budget; false if not given",
  }),
  max_steps: z.number().int().min(1).max(1000).optional().openapi({
    format: "int32",
    description: `How many steps a run may take; ${AGENT_DEFAULTS.maxSteps} if not given`,
  }),
  max_output_tokens: z.number().int().min(1).max(10_000_000).nullish().openapi({
    format: "int32",
    description: "At most so many tokens in one answer",
  }),
  tools: z.array(z.string()).max(128).optional().openapi({
    description: "The names of the tools that it may call; none if not given",
  }),
}).openapi("AgentBody");

const agent = {
  agent_id: AgentId,
  name: AgentId,
  model: z.string().openapi({ example: "demo:echo" }),
  system_prompt: z.string(),
  cost_budget_usd: Usd.nullable().openapi({
    description: "What one run may cost, in USD; null for no limit",
  }),
  budget_mode: BudgetMode,
  allow_unpriced: z.boolean(),
  max_steps: z.number().int().openapi({ format: "int32" }),
  max_output_tokens: z.number().int().nullable().openapi({ format: "int32" }),
  tools: z.array(z.string()),
  created_at: Time,
  updated_at: Time,
};

export const Agent = z.object(agent).openapi("Agent");

export const AgentWithUsage = z.object({ ...agent, token_usage: TokenUsage }).openapi("AgentWithUsage");

export const CostEvent = z.object({
  call_id: CallId,
  at: Time,
  agent_id: AgentId,
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  step: Count.nullable().openapi({ description: "Which step of the run; null outside a run" }),
  tools: z.array(z.string()).openapi({ description: "The tools that the model called for" }),
  provider: z.string().openapi({ example: "openai" }),
  model: z.string().openapi({ example: "gpt-5-mini" }),
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count.openapi({ description: "Of `input_tokens`" }),
  cache_write_tokens: Count.openapi({ description: "Of `input_tokens`" }),
  reasoning_tokens: Count.openapi({ description: "Of `output_tokens`" }),
  total_tokens: Count,
  cost_usd: CostUsd,
  price_source: z.string().openapi({ description: "Where the price came from; `reported`: with the call" }),
  duration_ms: z.number().nullable(),
  estimated: z.boolean().openapi({
    description: "Whether the tokens are an estimate, since the provider's count never arrived",
  }),
}).openapi("CostEvent");

export const StepCost = z.object({
  run_id: RunId.nullable(),
  step: Count.nullable(),
  tools: z.array(z.string()),
  model_calls: Count,
  unpriced_calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
}).openapi("StepCost");

export const SessionCosts = z.object({
  session_id: SessionId,
  token_usage: TokenUsage.openapi({ description: "Of the whole session, not of this page alone" }),
  steps: z.array(StepCost),
  calls: z.array(CostEvent),
}).openapi("SessionCosts");

const UsdCost = z.number().nonnegative().max(MAX_CALL_USD);
const Tokens = z.number().int().nonnegative().max(1e9).openapi({ format: "int64" });

export const CostEventBody = z.strictObject({
  call_id: Label.openapi({ description: "A call of the same id is booked once", example: "my-call-1" }),
  at: z.iso.datetime({ offset: true }).openapi({
    format: "date-time",
    description: "When the call was made; not more than five minutes ahead",
    example: "2026-11-21T09:30:00.000Z",
  }),
  agent_id: name("researcher").openapi({ description: "Need not be defined here" }),
  session_id: name("ses_demo").nullish(),
  run_id: name("run_demo").nullish(),
  step: z.number().int().min(0).max(1e9).nullish().openapi({ format: "int64" }),
  tools: z.array(Label).max(128).optional(),
  provider: Label.openapi({ example: "openai" }),
  model: Label.openapi({ example: "gpt-5-mini" }),
  input_tokens: Tokens.openapi({ description: "All of the input, that from a cache and that into one too" }),
  output_tokens: Tokens.openapi({ description: "All of the output, reasoning too" }),
  cache_read_tokens: Tokens.optional(),
  cache_write_tokens: Tokens.optional(),
  cache_write_1h_tokens: Tokens.optional().openapi({
    description: "Of `cache_write_tokens`, those that are kept for an hour",
  }),
  reasoning_tokens: Tokens.optional(),
  total_tokens: Tokens.optional().openapi({ description: "If given, the sum of input and output" }),
  cost_usd: UsdCost.nullish().openapi({
    format: "decimal",
    description: "USD, rounded half to even to nine decimals; without it the call is priced here",
  }),
  price_source: z.string().max(200).optional().openapi({
    description: "Not kept: it is `reported` with `cost_usd`, else it names the price that Purser found",
  }),
  duration_ms: z.number().nonnegative().max(1e12).nullish(),
  estimated: z.boolean().optional(),
}).superRefine(({ input_tokens, output_tokens, total_tokens }, ctx) => {
  if (total_tokens === undefined || total_tokens === input_tokens + output_tokens) return;
  ctx.addIssue({ code: "custom", path: ["total_tokens"], message: "is not input_tokens + output_tokens" });
}).openapi("CostEventBody");

export const CostEventsBody = z.array(CostEventBody).max(1000).openapi("CostEventsBody");

export const BookedReport = z.object({
  booked: Count.openapi({ description: "How many are new" }),
  duplicates: Count.openapi({ description: "How many had been booked before" }),
  unpriced: Count.openapi({ description: "How many of the new ones have no known price" }),
}).openapi("BookedReport");

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
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
}).openapi("CostRow", {
  description: "What a group has cost; of the fields that name groups it has its own",
});

export const Grouping = z.enum(GROUPINGS);

export const Health = z.object({
  status: z.literal("ok"),
  version: z.string().openapi({ example: "0.1.0" }),
  environment: z.string().openapi({ description: "`PURSER_ENVIRONMENT`", example: "local" }),
}).openapi("Health");

export const DoctorCheck = z.object({
  name: z.string().openapi({ example: "channel ops" }),
  status: z.enum(["ok", "warning", "failed"]),
  detail: z.string().openapi({ description: "What was found, for people; no secret" }),
  advice: z.string().nullable().openapi({ description: "What to do about it" }),
}).openapi("DoctorCheck");
