/** An event that is about to be appended. `payload` is in wire form. */
import type { SessionEventType } from "../contract/values.ts";
export interface NewEvent {
  type: SessionEventType;
  /** When it happened, in milliseconds since the epoch. */
  at: number;
  /** The call it tells of; `cost.recorded` has its payload in the ledger. */
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
