import { type NanoUsd, roundUsd } from "../../../kernel/money.ts";
import type { ReplayEvent } from "./replay_event.ts";

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
