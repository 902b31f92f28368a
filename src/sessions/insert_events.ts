import { toPlainJsonText } from "../json.ts";
import type { Statement } from "../store/mod.ts";
import type { NewEvent } from "./session_event.ts";

// The seq is the session's count at the time of the commit, so that writers need not agree beforehand.
const APPEND = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, call_id, payload)
SELECT s.session_id, s.event_count + 1 + e.key, ?2, ?3, e.value ->> 0, e.value ->> 1, e.value ->> 2, e.value ->> 3
FROM sessions s, json_each(?4) e WHERE s.session_id = ?1`;

/** Where events belong. */
export interface EventPlace {
  sessionId: string;
  runId: string | null;
  agentId: string;
}

/** The statement that appends events to a session's log; the session's row must count them in the same unit. */
export function insertEvents(place: EventPlace, events: readonly NewEvent[]): Statement {
  return { sql: APPEND, args: [place.sessionId, place.runId, place.agentId, encodeEvents(events)] };
}

/** Events as a JSON array of `[type, at, call_id, payload]`, the payload as text so that it stays as it is. */
function encodeEvents(events: readonly NewEvent[]): string {
  return JSON.stringify(
    events.map(({ type, at, callId, payload }) => [
      type,
      at,
      callId ?? null,
      payload === undefined ? null : toPlainJsonText(payload),
    ]),
  );
}
