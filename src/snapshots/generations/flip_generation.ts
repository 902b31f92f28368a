import { leaseNow, leaseTime, requireThat, type Statement } from "../../store/mod.ts";
import type { SnapshotContext } from "../context.ts";
import { type AgentDefinition, insertAgentIfNew } from "../../agents/mod.ts";
import type { Extras } from "../document/extras.ts";
import { IS_STAGED, type StagedGeneration } from "./stage_generation.ts";

/** The new state of a session. */
export interface NewState {
  agentId: string;
  status: string;
  messageCount: number;
  tags: Readonly<Record<string, string>>;
  /** Its origin, in wire form. */
  restoredFrom: Record<string, unknown>;
  extras: Extras;
  /** Defined unless an agent of that name exists. */
  agent: AgentDefinition | undefined;
}

/** The outcome of a flip. */
export interface Flip {
  messagesBefore: number;
  /** The run that held the session; its writes are refused from now on. */
  fencedRunId: string | null;
  isNewSession: boolean;
  /** The position of its `session.restored` event in the log. */
  seq: number;
  payload: Record<string, unknown>;
}

/** The condition of every statement, so that either all of them take effect or none. */
const IS_READY = `${IS_STAGED} AND EXISTS (SELECT 1 FROM sessions WHERE session_id = ?1 AND agent_id = ?4)`;

const CREATE_SESSION = `INSERT INTO sessions (session_id, agent_id, status, created_at, updated_at)
SELECT ?1, ?4, 'idle', ?5, ?5 WHERE ${IS_STAGED} ON CONFLICT (session_id) DO NOTHING`;

const LOG_CREATION = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT session_id, 1, NULL, agent_id, 'session.created', ?5, '{}' FROM sessions
WHERE session_id = ?1 AND event_count = 0 AND ${IS_READY}`;

const COUNT_CREATION =
  `UPDATE sessions SET event_count = 1 WHERE session_id = ?1 AND event_count = 0 AND ${IS_READY}`;

// The event records the previous state: it is read back, also after an answer was lost.
const LOG_RESTORE = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT session_id, event_count + 1, NULL, agent_id, 'session.restored', ?5,
  substr(?6, 1, length(?6) - 1)
    || ',"new_session":' || CASE WHEN event_count = 1 AND message_count = 0 THEN 'true' ELSE 'false' END
    || ',"messages_before":' || message_count
    || ',"fenced_run_id":' || coalesce('"' || active_run_id || '"', 'null') || '}'
FROM sessions WHERE session_id = ?1 AND ${IS_READY}`;

const IS_NOT_LONGER = `NOT EXISTS (SELECT 1 FROM sessions WHERE session_id = ?1 AND message_count > ?2)`;

const FENCE_RUN = `UPDATE runs SET cancel_requested = 1 WHERE status = 'running' AND ${IS_READY}
  AND run_id = (SELECT active_run_id FROM sessions WHERE session_id = ?1)`;

const LOOSEN = `INSERT INTO loose_generations (session_id, generation, staged_by, since)
SELECT session_id, generation, NULL, ${leaseTime("?5")} FROM sessions
WHERE session_id = ?1 AND ${IS_READY}`;

const FLIP = `UPDATE sessions SET generation = ?2, event_count = event_count + 1, active_run_id = NULL,
  status = ?6, message_count = ?7, tags = ?8, restored_from = ?9, extras = ?10, updated_at = ?5
WHERE session_id = ?1 AND ${IS_READY}`;

const SETTLE = `DELETE FROM loose_generations WHERE session_id = ?1 AND generation = ?2 AND staged_by = ?3
  AND EXISTS (SELECT 1 FROM sessions WHERE session_id = ?1 AND agent_id = ?4)`;

const READ_RESTORE = `SELECT seq, payload FROM events WHERE session_id = ?1 AND type = 'session.restored'
  AND payload ->> 'import_id' = ?2 ORDER BY seq DESC LIMIT 1`;

// The object of LOG_RESTORE without its parameter, after the fields of the result.
const READ_RESULT =
  `SELECT substr(?3, 1, length(?3) - 1) || substr(payload, length(?4)) FROM (${READ_RESTORE}) restored`;

/** Returns statements for the commit of a restore; it gets the query for its result, as JSON. */
export type Settle = (result: Statement) => readonly Statement[];

/**
 * Makes a staged generation the session's current state, in one commit: the previous one is loose from then on, and a
 * run in progress no longer holds the session. Returns undefined when the session belongs to another agent by now, or
 * the staged rows were swept. `settle` adds statements to the commit; it gets a query for the outcome, as JSON over the
 * fields of `result`, which has no row where nothing was restored. With `keepLonger` it throws a `ConstraintError` where
 * the session has more messages by now.
 */
export async function flipGeneration(
  ctx: SnapshotContext,
  staged: StagedGeneration,
  state: NewState,
  { result, keepLonger, settle }: { result: object; keepLonger: boolean; settle?: Settle },
): Promise<Flip | undefined> {
  const { sessionId, generation, importId } = staged;
  const now = ctx.clock.now();
  const key = [sessionId, generation, importId, state.agentId];
  const eventText = JSON.stringify({
    import_id: importId,
    messages: state.messageCount,
    ...state.restoredFrom,
  });
  const statements: Statement[] = [
    ...(keepLonger ? [requireThat({ sql: IS_NOT_LONGER, args: [sessionId, state.messageCount] })] : []),
    { sql: CREATE_SESSION, args: [...key, now] },
    { sql: LOG_CREATION, args: [...key, now] },
    { sql: COUNT_CREATION, args: key },
    { sql: LOG_RESTORE, args: [...key, now, eventText] },
    { sql: FENCE_RUN, args: key },
    { sql: LOOSEN, args: [...key, leaseNow(ctx)] },
    {
      sql: FLIP,
      args: [
        ...key,
        now,
        state.status,
        state.messageCount,
        JSON.stringify(state.tags),
        JSON.stringify(state.restoredFrom),
        JSON.stringify(state.extras),
      ],
    },
    ...(state.agent
      ? insertAgentIfNew({ author: ctx.author, now }, state.agent, { sql: IS_READY, args: key })
      : []),
    { sql: SETTLE, args: key },
    ...(settle?.({ sql: READ_RESULT, args: [sessionId, importId, JSON.stringify(result), eventText] }) ?? []),
    { sql: READ_RESTORE, args: [sessionId, importId] },
  ];
  const row = (await ctx.store.write(statements)).at(-1)!.rows[0];
  if (!row) return undefined;
  const payload = JSON.parse(row[1] as string) as Record<string, unknown>;
  return {
    seq: Number(row[0]),
    payload,
    messagesBefore: payload.messages_before as number,
    fencedRunId: payload.fenced_run_id as string | null,
    isNewSession: payload.new_session as boolean,
  };
}
