import { type NanoUsd, roundUsd } from "../../../kernel/money.ts";

/** An event as a replay reads it: from the API, or from a file that another version may have written. */
export interface ReplayEvent {
  /** Position in the session's own log, or in that of the environment it is imported from. */
  seq: number | null;
  type: string;
  /** ISO 8601; null where nothing tells the time, as in the messages of an old file. */
  at: string | null;
  agent_id: string | null;
  session_id: string | null;
  run_id: string | null;
  call_id: string | null;
  payload: Record<string, unknown>;
  /** The environment whose history it is; such events come before the session's own. */
  imported_from?: string;
}

/** The type of the events that a file's messages become where it has no event log. */
export const MESSAGE = "message";

/** An event that is part of a session's imported history, with its place there. */
export interface ImportedEvent extends ReplayEvent {
  position: number;
}

/** The payload of an event; one that is no object, as a file may have it, counts as empty. */
export function payloadOf({ payload }: Pick<ReplayEvent, "payload">): Record<string, unknown> {
  return isRecord(payload) ? payload : {};
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text that says something. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A count; what is none counts as zero. */
export function readCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? value as number : 0;
}

/** The exact amount of a cost of the wire; null where there is no price, or nothing that can be read as one. */
export function readCost(value: unknown): NanoUsd | null {
  if (typeof value !== "number" && typeof value !== "string") return null;
  try {
    return roundUsd(value);
  } catch {
    return null;
  }
}

/** The id of the call that an event tells of: `model.called` has it in its payload. */
export function callIdOf(event: ReplayEvent): string | undefined {
  return readText(event.call_id) ?? readText(payloadOf(event).call_id);
}
