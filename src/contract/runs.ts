import { z } from "@hono/zod-openapi";
import { STATUS } from "../kernel/errors.ts";
import { BudgetMode } from "./agents.ts";
import { EventType } from "./events.ts";
import { AgentId, Count, facts, name, Position, RunId, SessionId, Status, Time, Usd } from "./parts.ts";
import { anyProblem } from "./problems.ts";
import { TokenUsage } from "./usage.ts";

/** The wire's schemas of runs. */

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
export type RunResult = z.infer<typeof RunResult>;

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
export type Run = z.infer<typeof Run>;

/** An event of a run while it goes on. */
export const RunEvent = z.object({
  type: EventType,
  seq: Position.nullable(),
  at: Time,
  run_id: RunId,
  session_id: SessionId,
  payload: z.record(z.string(), z.unknown()),
}).openapi("RunEvent");
export type RunEvent = z.infer<typeof RunEvent>;

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
  z.object({ event: z.literal("error"), data: anyProblem() }).openapi({
    description: "The last event of a run that failed",
  }),
]).openapi("RunStreamEvent", {
  description: "One server-sent event; `data` is JSON on the wire. The last one is `result` or `error`",
});
