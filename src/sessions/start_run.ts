import { type AgentDefinition, describeAgent } from "../agents/mod.ts";
import type { Bus } from "../bus/mod.ts";
import type { BudgetMode } from "../contract/values.ts";
import { type Tags, tagsText } from "../contract/tags/tags.ts";
import { toIso } from "../kernel/clock.ts";
import { invalidField, PurserError } from "../kernel/errors.ts";
import { toPlainJsonText } from "../kernel/json/portable_json.ts";
import type { NanoUsd } from "../kernel/money.ts";
import { leaseNow, leaseTime, ORDERED_JOIN, type Store, toObjects } from "../store/mod.ts";
import type { RunRef, SessionContext } from "./context.ts";
import { RUN_LEASE_MS } from "./run_lease.ts";
import { recoverRuns, type RecoveryContext } from "./recover_runs.ts";
import { type NewMessage, newMessage } from "./session_message.ts";

/**
 * Starts a run: claims its session, stores the user's message, and publishes both after the commit. A session whose run is
 * dead is recovered first. Returns the start of the run in epoch milliseconds.
 *
 * @throws {PurserError} `conflict` when the session belongs to another agent or another run is in progress
 */
export async function startRun(
  ctx: RecoveryContext & { bus: Bus },
  agent: AgentDefinition,
  run: RunRef,
  input: string,
  { above = [], tags = {} }: { above?: readonly { runId: string }[]; tags?: Tags } = {},
): Promise<number> {
  const message = newMessage(ctx.ids, ctx.clock.now(), { role: "user", content: input });
  const hasTags = Object.keys(tags).length > 0;
  const payload = {
    model: agent.model,
    input,
    message_id: message.id,
    definition: describeAgent(agent),
    ...(hasTags && { tags }),
  };
  const newRun = {
    ...run,
    model: agent.model,
    costBudgetNanoUsd: agent.costBudgetNanoUsd,
    budgetMode: agent.budgetMode,
    input: message,
    tags: hasTags ? tags : null,
    payload,
    parentRunId: above[0]?.runId,
    rootRunId: above.at(-1)?.runId,
  };
  await ctx.store.instances.hold(ctx.instanceId);
  const { lastSeq, startedAt } = await claimSession(ctx, newRun).catch(async (error) => {
    if (!await recoverActiveRun(ctx, error)) throw error;
    return await claimSession(ctx, newRun);
  });
  const event = { at: toIso(startedAt), agent_id: run.agentId, session_id: run.sessionId };
  if (lastSeq === 2) { // the log of a new session begins with its creation
    ctx.bus.publish({ ...event, type: "session.created", run_id: null, seq: 1, payload: {} });
  }
  ctx.bus.publish({ ...event, type: "run.started", run_id: run.runId, seq: lastSeq, payload });
  return startedAt;
}

/** Recovers the run that a `conflict` names as active, if it is dead. Returns true if the session is free now. */
async function recoverActiveRun(ctx: RecoveryContext, conflict: unknown): Promise<boolean> {
  const runId = conflict instanceof PurserError ? conflict.details?.active_run_id : undefined;
  return typeof runId === "string" && (await recoverRuns(ctx, runId)).length > 0;
}

/** A run to start. */
export interface NewRun extends RunRef {
  model: string;
  costBudgetNanoUsd: NanoUsd | null;
  budgetMode: BudgetMode;
  /** The run that makes this one, and the one above all. */
  parentRunId?: string;
  rootRunId?: string;
  /** The user's message that starts it. */
  input: NewMessage;
  tags?: Tags | null;
  /** The payload of `run.started`, in wire form. */
  payload: Record<string, unknown>;
}

const CREATE_SESSION = `INSERT INTO sessions (session_id, agent_id, status, created_at, updated_at)
VALUES (?1, ?2, 'idle', ?3, ?3) ON CONFLICT (session_id) DO NOTHING`;

// A new session's log begins with its creation; the run's start and the user's message follow.
const CLAIM = `UPDATE sessions SET active_run_id = ?2, status = 'running', updated_at = ?4,
  event_count = event_count + CASE WHEN event_count = 0 THEN 2 ELSE 1 END, message_count = message_count + 1
WHERE session_id = ?1 AND agent_id = ?3 AND active_run_id IS NULL`;

const CLAIMED = "FROM sessions WHERE session_id = ?1 AND active_run_id = ?2";

const INSERT_RUN = `INSERT INTO runs (session_id, run_id, agent_id, model, status, cost_budget_nano_usd,
  budget_mode, instance_id, started_at, lease_until, parent_run_id, root_run_id, tags)
SELECT ?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?9 + ${leaseTime("?10")}, ?11, ?12, ?13 ${CLAIMED}`;

const LOG = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT session_id, 1, NULL, agent_id, 'session.created', ?3, '{}' ${CLAIMED} AND event_count = 2
UNION ALL SELECT session_id, event_count, ?2, agent_id, 'run.started', ?3, ?4 ${CLAIMED}`;

const INSERT_MESSAGE =
  `INSERT INTO messages (session_id, generation, position, message_id, run_id, created_at, content, is_whole)
SELECT session_id, generation, message_count - 1, ?3, ?2, ?4, ?5, 1 ${CLAIMED}`;

// Read from the log, which keeps the start of the run even if the session has changed hands since.
const READ_CLAIM = `SELECT s.agent_id, s.active_run_id, (SELECT e.seq FROM events e
  WHERE e.session_id = ?1 AND e.run_id = ?2 AND e.type = 'run.started' ORDER BY e.seq DESC LIMIT 1) AS seq
FROM sessions s WHERE s.session_id = ?1`;

/**
 * Creates the session unless it exists, claims it for the run, and stores the run and the user's message, in one commit.
 * Returns the seq of `run.started` in the session's log, and the start of the run in epoch milliseconds.
 *
 * @throws {PurserError} `conflict` when the session belongs to another agent or another run is in progress
 */
export async function claimSession(
  ctx: SessionContext,
  run: NewRun,
): Promise<{ lastSeq: number; startedAt: number }> {
  const { runId, sessionId, agentId } = run;
  const now = ctx.clock.now();
  const results = await ctx.store.write([
    { sql: CREATE_SESSION, args: [sessionId, agentId, now] },
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
        run.parentRunId ?? null,
        run.rootRunId ?? null,
        run.tags ? tagsText(run.tags) : null,
      ],
    },
    { sql: LOG, args: [sessionId, runId, now, toPlainJsonText(run.payload)] },
    { sql: INSERT_MESSAGE, args: [sessionId, runId, run.input.id, run.input.createdAt, run.input.text] },
    { sql: READ_CLAIM, args: [sessionId, runId] },
  ]);
  const claim =
    toObjects<{ agent_id: string; active_run_id: string | null; seq: bigint | null }>(results.at(-1)!)[0];
  if (claim && claim.seq !== null) return { lastSeq: Number(claim.seq), startedAt: now };
  throw claimRefused(run, claim);
}

function claimRefused(
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

/** A run above another, with its own budget. */
export interface AncestorRun {
  runId: string;
  sessionId: string;
  agentId: string;
  budget: { limitNanoUsd: NanoUsd; mode: BudgetMode; allowUnpriced: boolean } | null;
}

/** The number of runs that may be above a run. */
const MAX_DEPTH = 32;

const COLUMNS_ABOVE = [
  "run_id",
  "session_id",
  "agent_id",
  "cost_budget_nano_usd",
  "budget_mode",
  "parent_run_id",
];
const READ_ABOVE = `WITH RECURSIVE above(depth, ${COLUMNS_ABOVE.join(", ")}) AS (
  SELECT 1, ${COLUMNS_ABOVE.join(", ")} FROM runs WHERE run_id = ?1
  UNION ALL
  SELECT a.depth + 1, ${COLUMNS_ABOVE.map((column) => `r.${column}`).join(", ")}
  FROM above a ${ORDERED_JOIN} runs r ON r.run_id = a.parent_run_id WHERE a.depth <= ${MAX_DEPTH}
)
SELECT a.run_id, a.session_id, a.agent_id, a.cost_budget_nano_usd, a.budget_mode, coalesce(g.allow_unpriced, 0)
FROM above a LEFT JOIN agents g ON g.agent_id = a.agent_id ORDER BY a.depth`;

/**
 * Reads the run that makes another, and those above it, nearest first.
 *
 * @throws {PurserError} `invalid` when there is no such run, or too many are above it
 */
export async function readRunsAbove(
  { store }: { store: Pick<Store, "read"> },
  parentRunId: string,
): Promise<AncestorRun[]> {
  const { rows } = await store.read({ sql: READ_ABOVE, args: [parentRunId] });
  if (rows.length === 0) {
    throw invalidField(
      "parent_run_id",
      "there is no such run",
      `Cannot start a run below run ${parentRunId}: there is no such run in this database`,
    );
  }
  if (rows.length > MAX_DEPTH) {
    throw new PurserError(
      "invalid",
      `Cannot start a run below run ${parentRunId}: ${MAX_DEPTH} runs are above it already`,
    );
  }
  return rows.map(([runId, sessionId, agentId, limitNanoUsd, mode, allowUnpriced]) => ({
    runId: runId as string,
    sessionId: sessionId as string,
    agentId: agentId as string,
    budget: limitNanoUsd === null ? null : {
      limitNanoUsd: limitNanoUsd as bigint,
      mode: mode as BudgetMode,
      allowUnpriced: Number(allowUnpriced) !== 0,
    },
  }));
}
