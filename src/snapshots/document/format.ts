import type { ZodType } from "zod";
import { SCHEMA_VERSION, Snapshot } from "../../contract/snapshot/snapshot.ts";

/** Upgrades a document from one version to the next. Parts without a function stay unchanged. */
export interface Upgrade {
  /** The version that it upgrades. */
  from: number;
  /** The document without its messages and events. */
  head?: (head: Record<string, unknown>) => Record<string, unknown>;
  message?: (message: Record<string, unknown>) => Record<string, unknown>;
  event?: (event: Record<string, unknown>) => Record<string, unknown>;
}

/** The versions of the format that a program reads. */
export interface Format {
  /** The version that it writes. */
  version: number;
  /** The schema of that version, without its two lists. */
  head: ZodType;
  /** Steps from older versions, in order. */
  upgrades: readonly Upgrade[];
}

/**
 * The format of this program. A version 2 gets its own schema, `version: 2`, and here the step `{ from: 1, … }`; the
 * schema of version 1 stays published for readers of such files.
 */
export const FORMAT: Format = { version: SCHEMA_VERSION, head: Snapshot, upgrades: [] };

/** Applies every step from a version on to one part of a document. The schema refuses values that are not objects. */
export function upgrade(
  { upgrades }: Format,
  from: number,
  part: "head" | "message" | "event",
  value: unknown,
): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  let upgraded = value as Record<string, unknown>;
  for (const step of upgrades) {
    if (step.from < from) continue;
    upgraded = step[part]?.(upgraded) ?? upgraded;
    if (part === "head") upgraded = { ...upgraded, schema_version: step.from + 1 };
  }
  return upgraded;
}
