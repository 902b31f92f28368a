import type { SnapshotHead } from "../../contract/snapshot/snapshot.ts";

/** Unknown fields of a snapshot; they are kept with the session and are part of its next export. */
export interface Extras {
  document?: Record<string, unknown>;
  state?: Record<string, unknown>;
  agent?: Record<string, unknown>;
}

/** Limited because they are in the session's row, which every commit of a run rewrites. */
export const MAX_EXTRA_CHARACTERS = 1024 * 1024;

const DOCUMENT_FIELDS = new Set([
  "schema_version",
  "agent_id",
  "session_id",
  "state",
  "event_log_count",
  "tags",
  "source_environment",
  "exported_at",
  "events",
  "agent",
  "integrity",
]);
const STATE_FIELDS = new Set(["messages", "status", "token_usage"]);

/** Returns the extras of a snapshot, and its agent, whose definition may differ in this environment. */
export function extrasOf(head: SnapshotHead): Extras {
  return {
    document: without(head, DOCUMENT_FIELDS),
    state: without(head.state, STATE_FIELDS),
    ...(head.agent && { agent: head.agent }),
  };
}

/** Returns whether a field of the document, or of its state, is unknown. */
export function isExtra(path: readonly string[]): boolean {
  return path.length === 1 ? !DOCUMENT_FIELDS.has(path[0]!) : !STATE_FIELDS.has(path[1]!);
}

function without(value: Record<string, unknown>, known: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !known.has(key)));
}
