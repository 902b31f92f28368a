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
