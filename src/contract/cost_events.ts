import { AGENT_LIMITS, MAX_CALL_TOKENS, MAX_CALL_USD, MAX_REPORTED_CALLS } from "./limits.ts";
import { z } from "@hono/zod-openapi";
import { Count, Label, name } from "./parts.ts";
import { CallTags } from "./tags/tag_schemas.ts";
import { billedParts, otherParts, servedAs } from "./usage.ts";
import { CALL_OUTCOMES } from "./values.ts";

/** The wire schemas of reported calls, which were made elsewhere. */

const UsdCost = z.number().nonnegative().max(MAX_CALL_USD);
const Tokens = z.number().int().nonnegative().max(MAX_CALL_TOKENS).openapi({ format: "int64" });

export const CostEventBody = z.strictObject({
  call_id: Label.openapi({ description: "A call of the same id is booked once", example: "my-call-1" }),
  at: z.iso.datetime({ offset: true }).openapi({
    format: "date-time",
    description: "Time of the call; at most five minutes ahead",
    example: "2026-11-21T09:30:00.000Z",
  }),
  agent_id: name("researcher").openapi({ description: "The agent need not be defined here" }),
  session_id: name("ses_demo").nullish(),
  run_id: name("run_demo").nullish(),
  step: z.number().int().min(0).max(1e9).nullish().openapi({ format: "int64" }),
  tools: z.array(Label).max(AGENT_LIMITS.tools).optional(),
  reservation_id: z.string().regex(/^rsv_[0-9a-z]{26}$/, "must be an id of POST /budgets/reservations")
    .optional()
    .openapi({
      description: "The reservation that the call settles, of the same agent",
      example: "rsv_01k9qv3v8c7e9g1j3m5p7r9t1w",
    }),
  response_id: Label.optional().openapi({
    description:
      "The provider's id of the answer: a call that the gateway, a run or `meter()` has booked is not booked again",
  }),
  request_id: Label.optional().openapi({ description: "The provider's id of the request" }),
  account: Label.optional().openapi({ description: "The provider's id of the account that pays" }),
  project: Label.optional().openapi({ description: "The provider's name of the project within the account" }),
  upstream_id: z.string().max(200).optional().openapi({ description: "Ignored" }),
  outcome: z.enum(CALL_OUTCOMES).optional().openapi({
    description: "How a call ended that didn't complete",
  }),
  requested_service_tier: z.string().min(1).max(100).optional(),
  http_status: z.number().int().min(100).max(599).optional(),
  provider: Label.openapi({ example: "openai" }),
  model: Label.openapi({ example: "gpt-6-luna" }),
  input_tokens: Tokens.openapi({ description: "All input tokens, cache reads and cache writes included" }),
  output_tokens: Tokens.openapi({ description: "All output tokens, reasoning included" }),
  cache_read_tokens: Tokens.optional(),
  cache_write_tokens: Tokens.optional(),
  cache_write_1h_tokens: Tokens.optional().openapi({
    description: "Those of `cache_write_tokens` that are cached for an hour",
  }),
  reasoning_tokens: Tokens.optional(),
  total_tokens: Tokens.optional().openapi({ description: "If given, the sum of input and output tokens" }),
  cost_usd: UsdCost.nullish().openapi({
    format: "decimal",
    description:
      "USD, rounded half to even to nine decimals; without it the call is priced here, and so it is with 0 beside " +
      "tokens of a model that has a price",
  }),
  billing: z.literal("plan").optional().openapi({
    description:
      "`plan` where a subscription pays for the call: `cost_usd` is then 0 or absent. Without it the call is billed",
  }),
  plan_usd: UsdCost.nullish().openapi({
    format: "decimal",
    description: "USD that a call of a plan would cost by the API; without it the call is priced here",
  }),
  price_source: z.string().max(200).optional().openapi({
    description:
      "Ignored: it becomes `reported` with `cost_usd`, else the source of the price that Purser found",
  }),
  duration_ms: z.number().nonnegative().max(1e12).nullish(),
  estimated: z.boolean().optional(),
  ...billedParts(Tokens),
  ...otherParts(Tokens, z.strictObject),
  ...servedAs(z.string().min(1).max(100)),
  source: z.string().max(200).optional().openapi({ description: "Ignored: it becomes `report`" }),
  unpriced_parts: z.array(z.string().max(300)).max(200).optional().openapi({
    description: "Parts of the usage that a given `cost_usd` leaves out; else ignored",
  }),
  list_cost_usd: UsdCost.optional().openapi({
    description: "Cost by known prices, where `cost_usd` is the one that the provider has stated",
  }),
  stated_cost_usd: z.number().nonnegative().max(1e9).optional().openapi({
    description: "Cost that the provider has stated and that is not `cost_usd`; it is kept beside the call",
  }),
  stated_cost_reason: z.string().max(100).optional().openapi({ description: "Ignored" }),
  tags: CallTags.optional().openapi({
    description:
      "Tags of the call: at most ten beside those of the API key, which all its calls get. Those of the agent's definition that it " +
      "lacks are added, up to ten",
  }),
}).superRefine(({ billing, cost_usd, plan_usd }, ctx) => {
  const refuse = (field: string, message: string) => ctx.addIssue({ code: "custom", path: [field], message });
  if (billing === "plan" && cost_usd) {
    refuse("cost_usd", "is billed, and a plan pays for this call: its price is plan_usd");
  }
  if (billing !== "plan" && plan_usd != null) refuse("plan_usd", 'is of a call with the billing "plan"');
}).superRefine(({ input_tokens, output_tokens, total_tokens }, ctx) => {
  if (total_tokens === undefined || total_tokens === input_tokens + output_tokens) return;
  ctx.addIssue({ code: "custom", path: ["total_tokens"], message: "is not input_tokens + output_tokens" });
}).openapi("CostEventBody");
export type CostEventBody = z.infer<typeof CostEventBody>;

export const CostEventsBody = z.array(CostEventBody).max(MAX_REPORTED_CALLS).openapi("CostEventsBody");

export const BookedReport = z.object({
  booked: Count.openapi({ description: "Number of calls that are new" }),
  duplicates: Count.openapi({
    description:
      "Number of calls that were booked before with the same content, or by the gateway, a run or `meter()`",
  }),
  amended: Count.optional().openapi({
    description:
      "Number of calls that were reported before with a smaller output, or as billed; absent without any",
  }),
  unpriced: Count.openapi({ description: "Number of new calls without a known price" }),
}).openapi("BookedReport");
export type BookedReport = z.infer<typeof BookedReport>;
