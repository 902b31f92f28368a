import { SESSION_EVENT_TYPES } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { AgentId, CallId, Position, RunId, SessionId, Time } from "./parts.ts";

/** The wire's schemas of events. */

export const EventType = z.enum(SESSION_EVENT_TYPES);

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
export type SessionEvent = z.infer<typeof SessionEvent>;

/** What the stream of all sessions is made of. */
export const LogStreamEvent = z.object({
  id: z.string().openapi({ description: "The `event_id`; for `Last-Event-ID`", example: "42" }),
  event: EventType,
  data: SessionEvent,
}).openapi("LogStreamEvent", { description: "One server-sent event; `data` is JSON on the wire" });
