import type { ResultSet, SqlValue, Statement, Store } from "../store/mod.ts";
import { type Counters, noCounters, toCounters, toTokenUsage } from "./counters.ts";
import type { TokenUsage } from "../contract/usage.ts";
import { COUNTER_SUMS, textAt, usageOfIds } from "./usage_sql.ts";

type ReadContext = Pick<Store, "read">;

const MODEL = `${textAt("max", "last_at", "model")}`;
const OF_RUN = `SELECT ${MODEL}, ${COUNTER_SUMS} FROM run_usage WHERE run_id = ?`;
const OF_SESSION = `SELECT ${MODEL}, ${COUNTER_SUMS} FROM session_usage WHERE session_id = ?`;
const OF_SESSIONS = `SELECT session_id, ${MODEL}, ${COUNTER_SUMS} FROM ${
  usageOfIds("session", "?1")
} GROUP BY session_id`;
const OF_AGENT = `SELECT model, ${COUNTER_SUMS} FROM total_usage WHERE agent_id = ?
GROUP BY provider, model ORDER BY sum(model_calls) DESC, model`;

/** Reads the usage and cost of a run. */
export async function readRunUsage(store: ReadContext, runId: string): Promise<TokenUsage> {
  return toUsage((await store.read({ sql: OF_RUN, args: [runId] })).rows[0]!);
}

/** Reads the usage and cost of sessions, by id; sessions without a call have an entry too. */
export async function readSessionUsage(
  store: ReadContext,
  sessionIds: readonly string[],
): Promise<Map<string, TokenUsage>> {
  const usage = new Map(sessionIds.map((id) => [id, toTokenUsage(noCounters(), null)]));
  if (sessionIds.length === 0) return usage;
  const { rows } = await store.read({ sql: OF_SESSIONS, args: [JSON.stringify(sessionIds)] });
  for (const [sessionId, ...row] of rows) usage.set(sessionId as string, toUsage(row));
  return usage;
}

/** Returns the query for the usage and cost of a session, to be read with others. */
export function sessionUsageStatement(sessionId: string): Statement {
  return { sql: OF_SESSION, args: [sessionId] };
}

/** Converts the result of `sessionUsageStatement()`. */
export function toSessionUsage(result: ResultSet): TokenUsage {
  return toUsage(result.rows[0]!);
}

/** Reads the usage and cost of an agent over its lifetime. The model is the most used one. */
export async function readAgentUsage(store: ReadContext, agentId: string): Promise<TokenUsage> {
  const { rows } = await store.read({ sql: OF_AGENT, args: [agentId] });
  const sum = noCounters();
  for (const [, ...counters] of rows) addCounters(sum, toCounters(counters));
  return toTokenUsage(sum, rows[0]?.[0] as string ?? null);
}

/** Converts a row of a model and counters, which are null without a call. */
function toUsage([model, ...counters]: SqlValue[]): TokenUsage {
  return toTokenUsage(toCounters(counters), model as string | null);
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
