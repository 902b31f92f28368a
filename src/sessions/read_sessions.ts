import type { Run } from "../contract/runs.ts";
import type { Session } from "../contract/sessions.ts";
import { and, desc, eq, lt, or } from "drizzle-orm";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { firstAgentsOf, readRunUsage, readSessionUsage, type TokenUsage } from "../ledger/mod.ts";
import { toUsd } from "../kernel/money.ts";
import { type Store, tables } from "../store/mod.ts";
import type { SessionContext } from "./context.ts";

const { runs, sessions } = tables;

type ReadContext = Pick<SessionContext, "query"> & { store: Pick<SessionContext["store"], "read"> };

/** Lists sessions, latest first. `before` is the last row of the previous page. */
export async function listSessions(
  ctx: ReadContext,
  input: { agentId?: string; limit: number; before?: { updatedAt: number; sessionId: string } },
): Promise<Session[]> {
  const { agentId, before } = input;
  const rows = await ctx.query.select().from(sessions).where(and(
    agentId === undefined ? undefined : eq(sessions.agentId, agentId),
    before && or(
      lt(sessions.updatedAt, before.updatedAt),
      and(eq(sessions.updatedAt, before.updatedAt), lt(sessions.sessionId, before.sessionId)),
    ),
  )).orderBy(desc(sessions.updatedAt), desc(sessions.sessionId)).limit(input.limit);
  const usage = await readSessionUsage(ctx.store, rows.map((row) => row.sessionId));
  return rows.map((row) => toSession(row, usage.get(row.sessionId)!));
}

/** Returns one session. Throws `not_found`. */
export async function getSession(ctx: ReadContext, sessionId: string): Promise<Session> {
  const [row] = await ctx.query.select().from(sessions).where(eq(sessions.sessionId, sessionId));
  if (!row) throw new PurserError("not_found", `Cannot find session ${sessionId}`);
  return toSession(row, (await readSessionUsage(ctx.store, [sessionId])).get(sessionId)!);
}

/** Returns one run. Throws `not_found`. */
export async function getRun(ctx: ReadContext, runId: string): Promise<Run> {
  const [row] = await ctx.query.select().from(runs).where(eq(runs.runId, runId));
  if (!row) throw new PurserError("not_found", `Cannot find run ${runId}`);
  const usage = await readRunUsage(ctx.store, runId);
  return {
    run_id: row.runId,
    agent_id: row.agentId,
    session_id: row.sessionId,
    model: row.model,
    status: row.status,
    output: row.output,
    error: row.error,
    steps: row.endedAt === null ? usage.model_calls : row.steps,
    cost_budget_usd: row.costBudgetNanoUsd === null ? null : toUsd(row.costBudgetNanoUsd),
    budget_mode: row.budgetMode,
    token_usage: usage,
    started_at: toIso(row.startedAt),
    ended_at: row.endedAt === null ? null : toIso(row.endedAt),
  };
}

function toSession(row: typeof sessions.$inferSelect, usage: TokenUsage): Session {
  return {
    session_id: row.sessionId,
    agent_id: row.agentId,
    status: row.status,
    message_count: row.messageCount,
    event_log_count: row.eventCount,
    token_usage: usage,
    tags: row.tags,
    ...(row.restoredFrom && { restored_from: row.restoredFrom }),
    active_run_id: row.activeRunId,
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}

type StoreContext = { store: Pick<Store, "read"> };

/**
 * Returns the agent that owns a session; undefined for an unknown session. A session that is known from reported calls only
 * is owned by their agent, or by no agent (null) if they have several.
 */
export async function findSessionOwner(
  { store }: StoreContext,
  sessionId: string,
): Promise<string | null | undefined> {
  const { rows: [session] } = await store.read({
    sql: "SELECT agent_id FROM sessions WHERE session_id = ?",
    args: [sessionId],
  });
  if (session) return session[0] as string;
  const { rows: [calls] } = await store.read({
    sql: "SELECT min(agent_id), max(agent_id) FROM calls WHERE session_id = ?",
    args: [sessionId],
  });
  const [first, last] = calls!;
  if (first === null) return undefined;
  return first === last ? first as string : null;
}

/** Returns the agent that owns a run; undefined for an unknown run. */
export async function findRunOwner({ store }: StoreContext, runId: string): Promise<string | undefined> {
  const { rows: [run] } = await store.read({
    sql: "SELECT agent_id FROM runs WHERE run_id = ?",
    args: [runId],
  });
  return run?.[0] as string | undefined;
}

// A session or run that is known from calls only is owned by the agent of its first call.
const FOREIGN = `SELECT 'session', p.value FROM json_each(?1) p
  LEFT JOIN sessions s ON s.session_id = p.value
  LEFT JOIN ${firstAgentsOf("session", "?1")} x ON x.id = p.value
  WHERE coalesce(s.agent_id, x.agent_id) <> ?3
UNION ALL SELECT 'run', p.value FROM json_each(?2) p
  LEFT JOIN runs r ON r.run_id = p.value
  LEFT JOIN ${firstAgentsOf("run", "?2")} x ON x.id = p.value
  WHERE coalesce(r.agent_id, x.agent_id) <> ?3
LIMIT 1`;

/** Finds the first of the sessions and runs that another agent owns; those known from reported calls only count too. */
export async function findForeignRef(
  { store }: StoreContext,
  { agentId, sessionIds, runIds }: {
    agentId: string;
    sessionIds: readonly string[];
    runIds: readonly string[];
  },
): Promise<{ kind: "session" | "run"; id: string } | undefined> {
  const { rows: [row] } = await store.read({
    sql: FOREIGN,
    args: [JSON.stringify(sessionIds), JSON.stringify(runIds), agentId],
  });
  return row && { kind: row[0] as "session" | "run", id: row[1] as string };
}
