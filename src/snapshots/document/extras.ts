import type { SnapshotHead } from "../../contract/snapshot/snapshot.ts";

/** Fields of a snapshot that nobody here knows: they are kept with the session, and go with its next export. */
export interface Extras {
  document?: Record<string, unknown>;
  state?: Record<string, unknown>;
  agent?: Record<string, unknown>;
}

/** Such fields are in the session's own row, which every commit of a run touches. */
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

/** What is to be kept of a snapshot beside what has a place of its own. The agent may be defined otherwise here. */
export function extrasOf(head: SnapshotHead): Extras {
  return {
    document: without(head, DOCUMENT_FIELDS),
    state: without(head.state, STATE_FIELDS),
    ...(head.agent && { agent: head.agent }),
  };
}

/** Whether a field of the document, or of its state, is one that nobody here knows. */
export function isExtra(path: readonly string[]): boolean {
  return path.length === 1 ? !DOCUMENT_FIELDS.has(path[0]!) : !STATE_FIELDS.has(path[1]!);
}

function without(value: Record<string, unknown>, known: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !known.has(key)));
}
