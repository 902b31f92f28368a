import type { ZodType } from "zod";
import { SCHEMA_VERSION, Snapshot } from "../../contract/snapshot/snapshot.ts";

/** Brings a document of one version to the next. What it does not name stays as it is. */
export interface Upgrade {
  /** The version it starts from; it gives the next one. */
  from: number;
  /** The document without its messages and events. */
  head?: (head: Record<string, unknown>) => Record<string, unknown>;
  message?: (message: Record<string, unknown>) => Record<string, unknown>;
  event?: (event: Record<string, unknown>) => Record<string, unknown>;
}

/** Which versions of the format a program reads. */
export interface Format {
  /** The one it writes. */
  version: number;
  /** What a document of that version is, its two lists aside. */
  head: ZodType;
  /** Steps from older ones, in order. */
  upgrades: readonly Upgrade[];
}

/**
 * The format of this program. A version 2 gets its own schema, `version: 2`, and here the step `{ from: 1, … }`;
 * the schema of version 1 stays published for those who read such files.
 */
export const FORMAT: Format = { version: SCHEMA_VERSION, head: Snapshot, upgrades: [] };

/** Runs one part of a document through every step from its version on. What is no object is for the schema to refuse. */
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
