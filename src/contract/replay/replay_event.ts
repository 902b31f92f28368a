import { type NanoUsd, roundUsd } from "../../kernel/money.ts";

/** An event as a replay reads it: from the API, or from a file that another version may have written. */
export interface ReplayEvent {
  /** Position in the session's own log, or in that of the environment it is imported from. */
  seq: number | null;
  type: string;
  /** ISO 8601; null where the time is unknown, as in the messages of an old file. */
  at: string | null;
  agent_id: string | null;
  session_id: string | null;
  run_id: string | null;
  call_id: string | null;
  payload: Record<string, unknown>;
  /** The environment of an imported event; these come before the session's own. */
  imported_from?: string;
}

/** The type of events made from the messages of a file without an event log. */
export const MESSAGE = "message";

/** An event of a session's imported history, with its position there. */
export interface ImportedEvent extends ReplayEvent {
  position: number;
}

/** Returns the payload of an event; empty if it isn't an object, which can occur in a file. */
export function payloadOf({ payload }: Pick<ReplayEvent, "payload">): Record<string, unknown> {
  return isRecord(payload) ? payload : {};
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a text that isn't empty, else undefined. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns a count; 0 for any other value. */
export function readCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? value as number : 0;
}

/** Returns the exact cost of a JSON value; null if there is no price, or the value is invalid. */
export function readCost(value: unknown): NanoUsd | null {
  if (typeof value !== "number" && typeof value !== "string") return null;
  try {
    return roundUsd(value);
  } catch {
    return null;
  }
}

/** Returns the call id of an event: `model.called` has it in its payload. */
export function callIdOf(event: ReplayEvent): string | undefined {
  return readText(event.call_id) ?? readText(payloadOf(event).call_id);
}
