import type { SessionEventType } from "../contract/values.ts";

/** An event to append to the log. `payload` is in wire form. */
export interface NewEvent {
  type: SessionEventType;
  /** The time of the event, in milliseconds since the epoch. */
  at: number;
  /** The call that `cost.recorded` refers to, whose payload is in the ledger. */
  callId?: string;
  payload?: Record<string, unknown>;
}

/** An event of the log in wire form. */
export interface SessionEvent {
  /** Position in the log of all sessions. */
  event_id: number;
  /** Position in the session's own log, from 1; null for a call that belongs to no session. */
  seq: number | null;
  type: SessionEventType;
  at: string;
  agent_id: string;
  session_id: string | null;
  run_id: string | null;
  call_id: string | null;
  payload: Record<string, unknown>;
}
