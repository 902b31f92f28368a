import type { Run } from "../contract/runs.ts";
import type { Session } from "../contract/sessions.ts";
import { and, desc, eq, lt, or } from "drizzle-orm";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { readRunUsage, readSessionUsage, type TokenUsage } from "../ledger/mod.ts";
import { toUsd } from "../kernel/money.ts";
import { tables } from "../store/mod.ts";
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
