import { desc, eq, inArray, sql } from "drizzle-orm";
import type { NanoUsd } from "../money.ts";
import { type Query, type ResultSet, type Statement, type Store, tables } from "../store/mod.ts";
import {
  COUNTER_COLUMNS,
  type Counters,
  noCounters,
  toCounters,
  type TokenUsage,
  toTokenUsage,
} from "./counters.ts";

const { spendRuns, spendSessions, spendTotals } = tables;

/** What a run has used and cost. */
export async function readRunUsage(query: Query, runId: string): Promise<TokenUsage> {
  const [row] = await query.select().from(spendRuns).where(eq(spendRuns.runId, runId));
  return toTokenUsage(row ?? noCounters(), row?.model ?? null);
}

/** What a run has cost so far, in nano-USD: what budgets are held against. On the hot path, so no builder. */
export async function readRunCost(store: Pick<Store, "read">, runId: string): Promise<NanoUsd> {
  const { rows } = await store.read({
    sql: "SELECT cost_nano_usd FROM spend_runs WHERE run_id = ?",
    args: [runId],
  });
  return rows[0]?.[0] as bigint | undefined ?? 0n;
}

/** What sessions have used and cost, by id; a session without a call has an entry too. */
export async function readSessionUsage(
  query: Query,
  sessionIds: readonly string[],
): Promise<Map<string, TokenUsage>> {
  const usage = new Map(sessionIds.map((id) => [id, toTokenUsage(noCounters(), null)]));
  if (sessionIds.length === 0) return usage;
  const rows = await query.select().from(spendSessions).where(
    inArray(spendSessions.sessionId, [...sessionIds]),
  );
  for (const row of rows) usage.set(row.sessionId, toTokenUsage(row, row.model));
  return usage;
}

/** The query for what a session has used and cost, for those who read it together with other things. */
export function sessionUsageStatement(sessionId: string): Statement {
  return {
    sql: `SELECT model, ${COUNTER_COLUMNS.join(", ")} FROM spend_sessions WHERE session_id = ?`,
    args: [sessionId],
  };
}

/** Reads the result of `sessionUsageStatement`. */
export function toSessionUsage(result: ResultSet): TokenUsage {
  const row = result.rows[0];
  if (!row) return toTokenUsage(noCounters(), null);
  return toTokenUsage(toCounters(row.slice(1) as bigint[]), row[0] as string);
}

/** What an agent has used and cost in its lifetime. The model is the one it used most. */
export async function readAgentUsage(query: Query, agentId: string): Promise<TokenUsage> {
  const rows = await query.select().from(spendTotals).where(eq(spendTotals.agentId, agentId))
    .orderBy(desc(spendTotals.modelCalls), sql`${spendTotals.model}`);
  const sum = noCounters();
  for (const row of rows) addCounters(sum, row);
  return toTokenUsage(sum, rows[0]?.model ?? null);
}

function addCounters(sum: Counters, more: Counters): void {
  sum.modelCalls += more.modelCalls;
  sum.unpricedCalls += more.unpricedCalls;
  sum.inputTokens += more.inputTokens;
  sum.outputTokens += more.outputTokens;
  sum.cacheReadTokens += more.cacheReadTokens;
  sum.cacheWriteTokens += more.cacheWriteTokens;
  sum.reasoningTokens += more.reasoningTokens;
  sum.totalTokens += more.totalTokens;
  sum.costNanoUsd += more.costNanoUsd;
}
