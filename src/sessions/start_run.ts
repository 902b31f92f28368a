import { PurserError } from "../errors.ts";
import type { NanoUsd } from "../money.ts";
import { leaseNow, leaseTime, type Statement, toObjects } from "../store/mod.ts";
import { insertEvents } from "./insert_events.ts";
import { RUN_LEASE_MS, type SessionContext } from "./context.ts";
import { encodeMessages, type NewMessage } from "./session_message.ts";

/** A run that is about to begin. */
export interface NewRun {
  runId: string;
  sessionId: string;
  agentId: string;
  model: string;
  costBudgetNanoUsd: NanoUsd | null;
  budgetMode: "stop" | "strict";
  /** The user's message that starts it. */
  input: NewMessage;
  /** What `run.started` tells, in wire form. */
  payload: Record<string, unknown>;
}

const CREATE_SESSION = `INSERT INTO sessions (session_id, agent_id, status, created_at, updated_at)
VALUES (?1, ?2, 'idle', ?3, ?3) ON CONFLICT (session_id) DO NOTHING`;

const LOG_CREATION = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT session_id, 1, NULL, agent_id, 'session.created', ?2, '{}' FROM sessions
WHERE session_id = ?1 AND event_count = 0`;
const COUNT_CREATION = "UPDATE sessions SET event_count = 1 WHERE session_id = ?1 AND event_count = 0";

const CLAIM = `UPDATE sessions SET active_run_id = ?2, status = 'running', updated_at = ?4
WHERE session_id = ?1 AND agent_id = ?3 AND active_run_id IS NULL`;

const IS_CLAIMED = "EXISTS (SELECT 1 FROM sessions WHERE session_id = ?1 AND active_run_id = ?2)";

const INSERT_RUN = `INSERT INTO runs (session_id, run_id, agent_id, model, status, cost_budget_nano_usd,
  budget_mode, instance_id, started_at, lease_until)
SELECT ?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?9 + ${leaseTime("?10")} WHERE ${IS_CLAIMED}`;

const INSERT_MESSAGES =
  `INSERT INTO messages (session_id, generation, position, message_id, run_id, created_at, content, is_whole)
SELECT s.session_id, s.generation, s.message_count + m.key, m.value ->> 0, ?2, m.value ->> 1, m.value ->> 2, 1
FROM sessions s, json_each(?3) m WHERE s.session_id = ?1 AND s.active_run_id = ?2`;

const COUNT = `UPDATE sessions SET event_count = event_count + ?3, message_count = message_count + ?4
WHERE session_id = ?1 AND active_run_id = ?2`;

const READ_CLAIM = "SELECT agent_id, active_run_id, event_count FROM sessions WHERE session_id = ?";

/** The statement that adds messages to a session, if the run still holds it. */
export function insertMessages(sessionId: string, runId: string, messages: readonly NewMessage[]): Statement {
  return { sql: INSERT_MESSAGES, args: [sessionId, runId, encodeMessages(messages)] };
}

/**
 * Creates the session where it is new, claims it for the run, and keeps the user's message, in one commit.
 * Returns the session's event count, and when the run began, in epoch milliseconds.
 *
 * @throws {PurserError} `conflict` when the session belongs to another agent or another run is in progress
 */
export async function startRun(
  ctx: SessionContext,
  run: NewRun,
): Promise<{ eventCount: number; startedAt: number }> {
  const { runId, sessionId, agentId } = run;
  const now = ctx.clock.now();
  const started = {
    type: "run.started" as const,
    at: now,
    payload: run.payload,
  };
  const results = await ctx.store.write([
    { sql: CREATE_SESSION, args: [sessionId, agentId, now] },
    { sql: LOG_CREATION, args: [sessionId, now] },
    { sql: COUNT_CREATION, args: [sessionId] },
    { sql: CLAIM, args: [sessionId, runId, agentId, now] },
    {
      sql: INSERT_RUN,
      args: [
        sessionId,
        runId,
        agentId,
        run.model,
        run.costBudgetNanoUsd,
        run.budgetMode,
        ctx.instanceId,
        now,
        RUN_LEASE_MS,
        leaseNow(ctx),
      ],
    },
    whileHeld(insertEvents({ sessionId, runId, agentId }, [started])),
    insertMessages(sessionId, runId, [run.input]),
    { sql: COUNT, args: [sessionId, runId, 1, 1] },
    { sql: READ_CLAIM, args: [sessionId] },
  ]);
  const claim =
    toObjects<{ agent_id: string; active_run_id: string | null; event_count: bigint }>(results.at(-1)!)[0];
  if (claim?.active_run_id === runId) return { eventCount: Number(claim.event_count), startedAt: now };
  throw refusal(run, claim);
}

/** Appending only if the run (its second value) still holds the session. */
function whileHeld(statement: Statement): Statement {
  return { ...statement, sql: `${statement.sql} AND s.active_run_id = ?2` };
}

function refusal(
  run: NewRun,
  claim: { agent_id: string; active_run_id: string | null } | undefined,
): PurserError {
  if (claim && claim.agent_id !== run.agentId) {
    return new PurserError(
      "conflict",
      `Cannot run ${run.agentId} on session ${run.sessionId}: it belongs to agent ${claim.agent_id}`,
      { details: { session_id: run.sessionId } },
    );
  }
  return new PurserError(
    "conflict",
    `Cannot start a run on session ${run.sessionId}: run ${claim?.active_run_id} is in progress; wait for it or cancel it`,
    { details: { session_id: run.sessionId, active_run_id: claim?.active_run_id ?? null } },
  );
}
