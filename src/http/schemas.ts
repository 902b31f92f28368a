import { z } from "@hono/zod-openapi";
import { REPEATS, RuleChanges, RuleInput, THRESHOLD_TYPES } from "../alerts/mod.ts";
import { MAX_CALL_USD } from "../booking/mod.ts";
import { GROUPINGS } from "../ledger/mod.ts";
import { ANOMALY_KINDS } from "../monitor/mod.ts";
import { parseUsd } from "../money.ts";
import { NAME_PATTERN } from "../ids.ts";
import { SEVERITIES } from "../severity.ts";

/** The wire's schemas: what routes take and give, and what the OpenAPI document says of it. */

const NAME_RULE = "must be 1 to 128 letters, digits, '.', '_', ':' or '-', a letter or digit first";
const name = (example: string) => z.string().regex(NAME_PATTERN, NAME_RULE).openapi({ example });

/** USD with at most nine decimals, 0 or more: a limit must not be rounded. */
const UsdLimit = z.number().nonnegative().superRefine((value, ctx) => {
  try {
    parseUsd(value);
  } catch (error) {
    ctx.addIssue({ code: "custom", message: (error as Error).message });
  }
}).openapi({
  type: "number",
  minimum: 0,
  maximum: 1e9,
  example: 0.25,
  description: "USD, at most nine decimals",
});

const Status = z.enum([
  "idle",
  "running",
  "completed",
  "failed",
  "budget_exceeded",
  "cancelled",
  "interrupted",
]);
const Time = z.string().openapi({ format: "date-time", example: "2026-11-21T09:30:00.000Z" });
const Count = z.number().int().nonnegative();
const Usd = z.number().openapi({ description: "USD, at most nine decimals" });
const CostUsd = Usd.nullable().openapi({ description: "USD; null where no price is known" });

export const TokenUsage = z.object({
  input_tokens: Count,
  output_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
  model: z.string().nullable(),
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count,
  model_calls: Count,
  unpriced_calls: Count,
}).openapi("TokenUsage");

export const BudgetMode = z.enum(["stop", "strict"]);

export const AgentBody = z.strictObject({
  name: z.string().optional().openapi({ description: "If given, the agent's id" }),
  model: z.string().min(1).openapi({ example: "demo:echo" }),
  system_prompt: z.string().refine((text) => !text.includes("\0"), "must not contain NUL").optional(),
  cost_budget_usd: UsdLimit.nullish().openapi({ type: ["number", "null"] }),
  budget_mode: BudgetMode.optional(),
  allow_unpriced: z.boolean().optional(),
  max_steps: z.number().int().min(1).max(1000).optional(),
  max_output_tokens: z.number().int().min(1).max(10_000_000).nullish(),
  tools: z.array(z.string()).max(128).optional(),
}).openapi("AgentBody");

export const Agent = z.object({
  agent_id: z.string(),
  name: z.string(),
  model: z.string(),
  system_prompt: z.string(),
  cost_budget_usd: Usd.nullable(),
  budget_mode: BudgetMode,
  allow_unpriced: z.boolean(),
  max_steps: z.number().int(),
  max_output_tokens: z.number().int().nullable(),
  tools: z.array(z.string()),
  created_at: Time,
  updated_at: Time,
}).openapi("Agent");

export const AgentWithUsage = Agent.extend({ token_usage: TokenUsage }).openapi("AgentWithUsage");

export const RunBody = z.strictObject({
  input: z.string().min(1).openapi({ example: "What is 17 * 23?" }),
  session_id: name("ses_demo").optional(),
}).openapi("RunBody");

export const RunResult = z.object({
  run_id: z.string(),
  agent_id: z.string(),
  session_id: z.string(),
  status: Status,
  output: z.string().nullable(),
  steps: Count,
  token_usage: TokenUsage,
  started_at: Time,
  ended_at: Time,
}).openapi("RunResult");

export const Run = RunResult.extend({
  model: z.string(),
  error: z.record(z.string(), z.unknown()).nullable(),
  cost_budget_usd: Usd.nullable(),
  budget_mode: BudgetMode,
  ended_at: Time.nullable(),
}).openapi("Run");

export const Session = z.object({
  session_id: z.string(),
  agent_id: z.string(),
  status: Status,
  message_count: Count,
  event_log_count: Count,
  token_usage: TokenUsage,
  tags: z.record(z.string(), z.string()),
  restored_from: z.record(z.string(), z.unknown()).optional(),
  active_run_id: z.string().nullable(),
  created_at: Time,
  updated_at: Time,
}).openapi("Session");

export const SessionEvent = z.object({
  event_id: z.number().int(),
  seq: z.number().int().nullable(),
  type: z.string(),
  at: Time,
  agent_id: z.string(),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  call_id: z.string().nullable(),
  payload: z.record(z.string(), z.unknown()),
}).openapi("SessionEvent");

export const ImportedEvent = z.looseObject({
  position: z.number().int().openapi({ description: "Its place in the history that came with the snapshot" }),
  imported_from: z.string().openapi({ description: "The environment whose history it is" }),
  seq: z.number().int().nullable(),
  type: z.string(),
  at: Time,
  agent_id: z.string(),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  call_id: z.string().nullable(),
  payload: z.record(z.string(), z.unknown()),
}).openapi("ImportedEvent");

export const ImportResult = z.object({
  agent_id: z.string(),
  session_id: z.string(),
  messages_restored: Count,
  dry_run: z.boolean(),
  new_session: z.boolean(),
  messages_before: Count,
  events_imported: Count,
  fenced_run_id: z.string().nullable().openapi({ description: "The run in progress that was fenced off" }),
  agent_defined: z.boolean().openapi({
    description: "Whether the agent's definition came from the snapshot",
  }),
}).openapi("ImportResult");

export const CostEvent = z.object({
  call_id: z.string(),
  at: Time,
  agent_id: z.string(),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  step: z.number().int().nullable(),
  tools: z.array(z.string()),
  provider: z.string(),
  model: z.string(),
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
  price_source: z.string(),
  duration_ms: z.number().nullable(),
  estimated: z.boolean(),
}).openapi("CostEvent");

export const StepCost = z.object({
  run_id: z.string().nullable(),
  step: z.number().int().nullable(),
  tools: z.array(z.string()),
  model_calls: Count,
  unpriced_calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
}).openapi("StepCost");

export const SessionCosts = z.object({
  session_id: z.string(),
  token_usage: TokenUsage,
  steps: z.array(StepCost),
  calls: z.array(CostEvent),
}).openapi("SessionCosts");

const UsdCost = z.number().nonnegative().max(MAX_CALL_USD);
const Tokens = z.number().int().nonnegative().max(1e9);
// Neither control characters nor lone surrogates: not every way to the database keeps them as they are.
const Label = z.string().regex(
  /^[^\p{Cc}\p{Cs}]{1,200}$/u,
  "must be 1 to 200 characters, none of them a control character",
);

export const CostEventBody = z.strictObject({
  call_id: Label,
  at: z.iso.datetime({ offset: true }).openapi({ format: "date-time", example: "2026-11-21T09:30:00.000Z" }),
  agent_id: name("researcher"),
  session_id: name("ses_demo").nullish(),
  run_id: name("run_demo").nullish(),
  step: z.number().int().min(0).max(1e9).nullish(),
  tools: z.array(Label).max(128).optional(),
  provider: Label,
  model: Label,
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_read_tokens: Tokens.optional(),
  cache_write_tokens: Tokens.optional(),
  cache_write_1h_tokens: Tokens.optional(),
  reasoning_tokens: Tokens.optional(),
  total_tokens: Tokens.optional(),
  cost_usd: UsdCost.nullish(),
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

export const BookedReport = z.object({ booked: Count, duplicates: Count, unpriced: Count }).openapi(
  "BookedReport",
);

export const CostRow = z.object({
  agent_id: z.string().optional(),
  session_id: z.string().optional(),
  run_id: z.string().optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  hour: z.string().optional(),
  day: z.string().optional(),
  model_calls: Count,
  unpriced_calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
}).openapi("CostRow");

export const Grouping = z.enum(GROUPINGS);

// Those of the alerts layer know nothing of OpenAPI; a copy made here does.
export const RuleBody = RuleInput.clone().openapi("AlertRuleBody");
export const RuleChangesBody = RuleChanges.clone().openapi("AlertRuleChanges");

const ThresholdType = z.enum(THRESHOLD_TYPES);
const Severity = z.enum(SEVERITIES);

export const Rule = z.object({
  rule_id: z.string(),
  name: z.string(),
  threshold_type: ThresholdType,
  threshold_usd: Usd,
  severity: Severity,
  cooldown_seconds: Count,
  repeat: z.enum(REPEATS),
  agent_id: z.string().nullable().openapi({ description: "Null: all agents" }),
  enabled: z.boolean(),
  last_fired_at: Time.nullable(),
  created_at: Time,
  updated_at: Time,
  value_usd: Usd.nullable().openapi({
    description:
      "What its present window holds; of a rule per run or session the newest one. Null: nothing yet",
  }),
}).openapi("AlertRule");

export const AlertDelivery = z.object({
  delivery_id: z.string(),
  channel: z.string(),
  kind: z.string(),
  status: z.enum(["pending", "delivered", "failed"]),
  attempts: Count,
  last_error: z.string().nullable(),
  delivered_at: Time.nullable(),
}).openapi("AlertDelivery");

export const Alert = z.object({
  alert_id: z.string(),
  rule_id: z.string(),
  rule_name: z.string().openapi({
    description: "The rule's name, threshold and severity are those of that time",
  }),
  threshold_type: ThresholdType,
  threshold_usd: Usd,
  severity: Severity,
  value_usd: Usd,
  agent_id: z.string().nullable().openapi({ description: "The agent of the call that made the rule fire" }),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  window_start: Time.nullable(),
  triggered_at: Time,
  test: z.boolean(),
  deliveries: z.array(AlertDelivery),
}).openapi("Alert");

export const TestResult = z.object({
  channel: z.string(),
  kind: z.string(),
  delivery_id: z.string(),
  status: z.enum(["delivered", "failed"]),
  error: z.string().nullable(),
  duration_ms: Count,
}).openapi("ChannelTestResult");

export const RuleTest = z.object({ alert_id: z.string(), results: z.array(TestResult) }).openapi(
  "AlertRuleTest",
);

export const Channel = z.object({
  name: z.string(),
  kind: z.string(),
  min_severity: Severity,
  timeout_ms: z.number(),
  status: z.enum(["ok", "invalid"]),
  problem: z.string().nullable().openapi({ description: "Why nothing can be delivered through it" }),
  settings: z.record(z.string(), z.unknown()).openapi({ description: "Secrets are `***`" }),
}).openapi("Channel");

export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  instance: z.string(),
  code: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
  run_id: z.string().optional().openapi({ description: "The run that ended with this" }),
  session_id: z.string().optional(),
}).openapi("Problem");

export const Health = z.object({ status: z.literal("ok"), version: z.string(), environment: z.string() })
  .openapi("Health");

export const Anomaly = z.object({
  anomaly_id: z.string(),
  kind: z.enum(ANOMALY_KINDS),
  severity: Severity,
  agent_id: z.string(),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  call_id: z.string().nullable(),
  message: z.string().openapi({ description: "One line for people" }),
  details: z.record(z.string(), z.unknown()).openapi({ description: "The figures, which differ by kind" }),
  detected_at: Time,
}).openapi("Anomaly");

export const DoctorCheck = z.object({
  name: z.string().openapi({ example: "channel ops" }),
  status: z.enum(["ok", "warning", "failed"]),
  detail: z.string().openapi({ description: "What was found, for people; no secret" }),
  advice: z.string().nullable().openapi({ description: "What to do about it" }),
}).openapi("DoctorCheck");
