import { z } from "@hono/zod-openapi";
import { AGENT_STATUSES } from "../agent_status.ts";
import { STATUS } from "../errors.ts";
import { SESSION_EVENT_TYPES } from "../sessions/mod.ts";
import { Problem } from "./problem_schemas.ts";
import {
  AgentId,
  CallId,
  CostUsd,
  Count,
  facts,
  name,
  Position,
  RunId,
  SessionId,
  Time,
  Usd,
} from "./schema_parts.ts";

export const BUDGET_MODES =
  "`stop`: no call is made once the limit is reached; `strict`: none that could pass it";
export const BudgetMode = z.enum(["stop", "strict"]).openapi({ description: BUDGET_MODES });

const Status = z.enum(AGENT_STATUSES);

export const TokenUsage = z.object({
  input_tokens: Count,
  output_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd.openapi({
    description: "USD, of the calls with a known price; null where there were calls and none has one",
  }),
  model: z.string().nullable().openapi({
    description: "The model; of an agent the one that it used most. Null before the first call",
  }),
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count,
  model_calls: Count,
  unpriced_calls: Count.openapi({ description: "Calls without a known price, which `cost_usd` leaves out" }),
}).openapi("TokenUsage");

export const RunBody = z.strictObject({
  input: z.string().min(1).openapi({ example: "What is 17 * 23?" }),
  session_id: name("ses_demo").optional().openapi({
    description: "The session that it goes on with, or a new one of that id; without it a new one",
  }),
}).openapi("RunBody");

const runResult = {
  run_id: RunId,
  agent_id: AgentId,
  session_id: SessionId,
  status: Status,
  output: z.string().nullable().openapi({ description: "The last answer's text" }),
  steps: Count.openapi({ description: "How many steps it took: one for each model call that was booked" }),
  token_usage: TokenUsage,
  started_at: Time,
  ended_at: Time,
};

export const RunResult = z.object(runResult).openapi("RunResult");

/** What is known of a run that is about to end. */
export const Cancelling = z.object({ run_id: RunId }).openapi("Cancelling");

const RunError = facts({
  code: z.enum(Object.keys(STATUS) as [string, ...string[]]),
  message: z.string(),
  details: z.looseObject({}).optional(),
}).openapi("RunError");

export const Run = z.object({
  ...runResult,
  model: z.string().openapi({ example: "demo:echo" }),
  error: RunError.nullable().openapi({ description: "What ended it, where it did not complete" }),
  cost_budget_usd: Usd.nullable(),
  budget_mode: BudgetMode,
  ended_at: Time.nullable().openapi({ description: "Null while it goes on" }),
}).openapi("Run");

const Origin = facts({
  source_environment: z.string(),
  exported_at: Time,
  restored_at: Time,
  schema_version: z.number(),
  status: Status,
  event_log_count: Count,
  events_imported: Count,
  integrity: z.string().optional(),
  token_usage: z.looseObject({}).optional(),
}).openapi("SessionOrigin");

export const Session = z.object({
  session_id: SessionId,
  agent_id: AgentId,
  status: Status,
  message_count: Count,
  event_log_count: Count,
  token_usage: TokenUsage,
  tags: z.record(z.string(), z.string()),
  restored_from: Origin.optional().openapi({ description: "The snapshot that it was last restored from" }),
  active_run_id: z.string().nullable().openapi({ description: "The run in progress" }),
  created_at: Time,
  updated_at: Time,
}).openapi("Session");

const EventType = z.enum(SESSION_EVENT_TYPES);

export const SessionEvent = z.object({
  event_id: Position.openapi({ description: "Its position in the log of all sessions" }),
  seq: Position.nullable().openapi({
    description: "Its position in the session's log; null outside a session",
  }),
  type: EventType,
  at: Time,
  agent_id: AgentId,
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  call_id: CallId.nullable(),
  payload: z.record(z.string(), z.unknown()).openapi({ description: "What there is to tell, by type" }),
}).openapi("SessionEvent");

export const ImportedEvent = z.looseObject({
  position: Position.openapi({ description: "Its place in the history that came with the snapshot" }),
  imported_from: z.string().openapi({ description: "The environment whose history it is" }),
  seq: Position.nullable(),
  type: z.string().openapi({ description: "As the other environment calls it" }),
  at: Time,
  agent_id: z.string(),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  call_id: z.string().nullable(),
  payload: z.record(z.string(), z.unknown()),
}).openapi("ImportedEvent");

export const ImportResult = z.object({
  agent_id: AgentId,
  session_id: SessionId,
  messages_restored: Count,
  dry_run: z.boolean().openapi({ description: "Whether nothing was written" }),
  new_session: z.boolean(),
  messages_before: Count.openapi({ description: "How many messages the session had, which are replaced" }),
  events_imported: Count,
  fenced_run_id: z.string().nullable().openapi({ description: "The run in progress that was fenced off" }),
  agent_defined: z.boolean().openapi({
    description: "Whether the agent's definition came from the snapshot",
  }),
}).openapi("ImportResult");

/** An event of a run while it goes on. */
const RunEvent = z.object({
  type: EventType,
  seq: Position.nullable(),
  at: Time,
  run_id: RunId,
  session_id: SessionId,
  payload: z.record(z.string(), z.unknown()),
}).openapi("RunEvent");

/** What a run's stream is made of: `event` and `data` of each server-sent event, the data parsed. */
export const RunStreamEvent = z.discriminatedUnion("event", [
  z.object({
    event: z.literal("text"),
    data: z.object({ text: z.string() }),
  }).openapi({ description: "A piece of the model's answer, as it comes" }),
  z.object({
    event: EventType,
    data: RunEvent,
  }).openapi({ description: "An event of the session's log, once it is committed" }),
  z.object({ event: z.literal("result"), data: RunResult }).openapi({
    description: "The last event of a run that ended well, or was cancelled",
  }),
  z.object({ event: z.literal("error"), data: Problem }).openapi({
    description: "The last event of a run that failed",
  }),
]).openapi("RunStreamEvent", {
  description: "One server-sent event; `data` is JSON on the wire. The last one is `result` or `error`",
});

/** What the stream of all sessions is made of. */
export const LogStreamEvent = z.object({
  id: z.string().openapi({ description: "The `event_id`; for `Last-Event-ID`", example: "42" }),
  event: EventType,
  data: SessionEvent,
}).openapi("LogStreamEvent", { description: "One server-sent event; `data` is JSON on the wire" });
