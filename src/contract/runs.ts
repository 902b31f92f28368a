import { z } from "@hono/zod-openapi";
import { STATUS } from "../kernel/errors.ts";
import { BudgetMode } from "./agents.ts";
import { TicketId } from "./budgets/approvals.ts";
import { EventType } from "./events.ts";
import {
  AgentId,
  Count,
  facts,
  name,
  orNull,
  Position,
  RunId,
  SessionId,
  Status,
  Time,
  Usd,
} from "./parts.ts";
import { anyProblem } from "./problems.ts";
import { CallTags, Tags } from "./tags/tag_schemas.ts";
import { TokenUsage } from "./usage.ts";

/** The wire schemas of runs. */

export const RunBody = z.strictObject({
  input: z.string().min(1).openapi({ example: "What is 17 * 23?" }),
  session_id: name("ses_demo").optional().openapi({
    description:
      "The session to continue, or the id of a new one (for a key of one agent AGENT_ID:NAME); a new session if not given",
  }),
  parent_run_id: name("run_01k9qv3v5e8r6t2y4w7x9z1a3b").optional().openapi({
    description:
      "The run whose tool makes this one: the budgets of that run and of those above it count its calls too",
  }),
  tags: Tags.optional().openapi({
    description:
      "Tags of the run's calls; they are added to those of the agent, and replace those of the same key",
  }),
}).openapi("RunBody");

const runResult = {
  run_id: RunId,
  agent_id: AgentId,
  session_id: SessionId,
  status: Status,
  output: z.string().nullable().openapi({
    description: "Text of the last response; null where the run ended without one",
  }),
  steps: Count.openapi({ description: "Number of steps: one per booked model call" }),
  token_usage: TokenUsage,
  started_at: Time,
  ended_at: Time,
};

/** The ticket of a run in progress. */
export const waitingFor = TicketId.optional().openapi({
  description: "While the run waits for a person: the ticket by which a budget asks for more",
});

export const RunResult = z.object(runResult).openapi("RunResult");
export type RunResult = z.infer<typeof RunResult>;

/** A run that is about to end. */
export const Cancelling = z.object({ run_id: RunId }).openapi("Cancelling");

const RunError = facts({
  code: z.enum(Object.keys(STATUS) as [string, ...string[]]),
  message: z.string(),
  details: z.looseObject({}).optional(),
}).openapi("RunError");

export const Run = z.object({
  ...runResult,
  model: z.string().openapi({ example: "demo:echo" }),
  error: orNull(RunError).openapi({
    description: "The error that ended the run, where it did not complete",
  }),
  cost_budget_usd: Usd.nullable(),
  budget_mode: BudgetMode,
  parent_run_id: RunId.optional().openapi({ description: "The run that has made it, if any" }),
  tags: CallTags.optional().openapi({ description: "Tags of its calls; absent without any" }),
  ended_at: Time.nullable().openapi({ description: "Null while the run is in progress" }),
  waiting_for: waitingFor,
}).openapi("Run");
export type Run = z.infer<typeof Run>;

const { output: _output, ...listedResult } = runResult;

/** A run in a list: without its texts, which may be long. */
export const ListedRun = z.object({
  ...listedResult,
  ended_at: Time.nullable().openapi({ description: "Null while the run is in progress" }),
  model: z.string().openapi({ example: "demo:echo" }),
  error_code: z.enum(Object.keys(STATUS) as [string, ...string[]]).nullable().openapi({
    description: "The `code` of the error that ended the run, where it did not complete",
  }),
  cost_budget_usd: Usd.nullable(),
  budget_mode: BudgetMode,
  parent_run_id: RunId.optional().openapi({ description: "The run that has made it, if any" }),
  tags: CallTags.optional().openapi({ description: "Tags of its calls; absent without any" }),
  waiting_for: waitingFor,
}).openapi("ListedRun");
export type ListedRun = z.infer<typeof ListedRun>;

/** An event of a run in progress, after its commit. */
export const RunEvent = z.object({
  type: EventType,
  seq: Position.nullable(),
  at: Time,
  run_id: RunId,
  session_id: SessionId,
  payload: z.record(z.string(), z.unknown()),
}).openapi("RunEvent");
export type RunEvent = z.infer<typeof RunEvent>;

const RunText = z.object({ text: z.string() }).openapi("RunText");

/** One server-sent event of a run's stream: its `event` and its `data`, parsed. Each has a name, for generators. */
export const RunStreamEvent = z.discriminatedUnion("event", [
  z.object({ event: z.literal("text"), data: RunText }).openapi("RunStreamText", {
    description: "A piece of the model's response, as it arrives",
  }),
  z.object({ event: EventType, data: RunEvent }).openapi("RunStreamLogged", {
    description: "An event of the session's log, after its commit",
  }),
  z.object({ event: z.literal("result"), data: RunResult }).openapi("RunStreamResult", {
    description: "The last event of a run that completed, or was cancelled",
  }),
  z.object({ event: z.literal("error"), data: anyProblem() }).openapi("RunStreamError", {
    description: "The last event of a run that failed",
  }),
]).openapi("RunStreamEvent", {
  description: "One server-sent event; `data` is JSON on the wire. The last one is `result` or `error`",
});
