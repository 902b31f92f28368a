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
