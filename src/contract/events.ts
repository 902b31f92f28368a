import { SESSION_EVENT_TYPES } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { AgentId, CallId, Position, RunId, SessionId, Time } from "./parts.ts";

/** The wire schemas of events. */

export const EventType = z.enum(SESSION_EVENT_TYPES);

export const SessionEvent = z.object({
  event_id: Position.openapi({ description: "Position in the log of all sessions" }),
  seq: Position.nullable().openapi({
    description: "Position in the session's log, from 1; null outside a session",
  }),
  type: EventType,
  at: Time,
  agent_id: AgentId,
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  call_id: CallId.nullable(),
  payload: z.record(z.string(), z.unknown()).openapi({ description: "Facts about the event, by type" }),
}).openapi("SessionEvent");
export type SessionEvent = z.infer<typeof SessionEvent>;

/** One event of the stream of all sessions. */
export const LogStreamEvent = z.object({
  id: z.string().openapi({ description: "The `event_id`; for `Last-Event-ID`", example: "42" }),
  event: EventType,
  data: SessionEvent,
}).openapi("LogStreamEvent", { description: "One server-sent event; `data` is JSON on the wire" });
