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
