import {
  indexedBy,
  isAfter,
  NOT_INDEXED,
  type ResultSet,
  type SqlValue,
  type Statement,
  type Store,
} from "../store/mod.ts";
import type { TokenUsage } from "../contract/usage.ts";
import { CALLS_OF_ENTRY, COUNTER_SUMS, textAt, TOTALS_POSITION, usageOfIds } from "./usage_sql.ts";
import { NANO_PER_USD, type NanoUsd, toUsd } from "../kernel/money.ts";

type ReadContext = Pick<Store, "read">;

const MODEL = `${textAt("max", "last_at", "model")}`;
const OF_RUN = `SELECT ${MODEL}, ${COUNTER_SUMS} FROM run_usage WHERE run_id = ?`;
const IS_PARTLY_PRICED = `SELECT sum(partly_priced_calls) > 0 FROM ${usageOfIds("run", "?1")}`;
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

const OF_RUNS = `SELECT run_id, ${MODEL}, ${COUNTER_SUMS} FROM ${usageOfIds("run", "?1")} GROUP BY run_id`;

/** Reads the usage and cost of runs, by id; runs without a call have an entry too. */
export async function readRunUsages(
  store: ReadContext,
  runIds: readonly string[],
): Promise<Map<string, TokenUsage>> {
  const usage = new Map(runIds.map((id) => [id, toTokenUsage(noCounters(), null)]));
  if (runIds.length === 0) return usage;
  const { rows } = await store.read({ sql: OF_RUNS, args: [JSON.stringify(runIds)] });
  for (const [runId, ...row] of rows) usage.set(runId as string, toUsage(row));
  return usage;
}

const SESSIONS = `WITH j AS MATERIALIZED (SELECT value AS run_id FROM json_each(?1))
SELECT j.run_id, coalesce(
  (SELECT u.session_id FROM usage_runs u WHERE u.run_id = j.run_id),
  (SELECT c.session_id FROM calls c ${NOT_INDEXED} WHERE ${
  isAfter(TOTALS_POSITION, "c.position")
} AND c.run_id = j.run_id LIMIT 1)
) FROM j`;

/** Reads the sessions of runs that have calls, by the id of the run; null for a run without a session. */
export async function readSessionsOfRuns(
  store: ReadContext,
  runIds: readonly string[],
): Promise<Map<string, string | null>> {
  if (runIds.length === 0) return new Map();
  const { rows } = await store.read({ sql: SESSIONS, args: [JSON.stringify(runIds)] });
  return new Map(rows as [string, string | null][]);
}

/** Returns whether a run has a call of which a part has no known price by now. */
export async function hasPartlyPricedCall(store: ReadContext, runId: string): Promise<boolean> {
  const { rows } = await store.read({ sql: IS_PARTLY_PRICED, args: [JSON.stringify([runId])] });
  return rows[0]![0] === 1n;
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

const MODELS_OF_SESSION = `SELECT provider || ':' || model FROM calls ${indexedBy("calls_by_session")}
WHERE session_id = ? GROUP BY 1 HAVING sum(${CALLS_OF_ENTRY}) > 0 ORDER BY sum(${CALLS_OF_ENTRY}) DESC, 1 LIMIT 100`;

/** Reads the models that a session has called, as `provider:model`, those with the most calls first. */
export async function readSessionModels(
  store: Pick<Store, "readLong">,
  sessionId: string,
): Promise<string[]> {
  const { rows } = await store.readLong({ sql: MODELS_OF_SESSION, args: [sessionId] });
  return rows.map(([model]) => model as string);
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
  sum.partlyPricedCalls += more.partlyPricedCalls;
  sum.inputTokens += more.inputTokens;
  sum.outputTokens += more.outputTokens;
  sum.cacheReadTokens += more.cacheReadTokens;
  sum.cacheWriteTokens += more.cacheWriteTokens;
  sum.reasoningTokens += more.reasoningTokens;
  sum.totalTokens += more.totalTokens;
  sum.costNanoUsd += more.costNanoUsd;
  sum.planNanoUsd += more.planNanoUsd;
}

/** The counters of every rollup. Totals are inclusive: input includes cache, output includes reasoning. */
export interface Counters {
  modelCalls: number;
  unpricedCalls: number;
  /** Calls with a part that has no price; their cost is that of the others. */
  partlyPricedCalls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  totalTokens: number;
  costNanoUsd: NanoUsd;
  /** The plan value: the cost by the API of the calls that a plan pays for. */
  planNanoUsd: NanoUsd;
}

/** Returns counters of zero calls. */
export function noCounters(): Counters {
  return {
    modelCalls: 0,
    unpricedCalls: 0,
    partlyPricedCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    totalTokens: 0,
    costNanoUsd: 0n,
    planNanoUsd: 0n,
  };
}

/** Converts the values of `COUNTER_SUMS`, which are null without any row. */
export function toCounters(values: readonly SqlValue[]): Counters {
  const [
    modelCalls,
    unpricedCalls,
    partlyPricedCalls,
    ,
    input,
    output,
    cacheRead,
    cacheWrite,
    reasoning,
    total,
  ] = values.map(Number);
  return {
    modelCalls: modelCalls!,
    unpricedCalls: unpricedCalls!,
    partlyPricedCalls: partlyPricedCalls!,
    inputTokens: input!,
    outputTokens: output!,
    cacheReadTokens: cacheRead!,
    cacheWriteTokens: cacheWrite!,
    reasoningTokens: reasoning!,
    totalTokens: total!,
    costNanoUsd: toBigInt(values[10]) * NANO_PER_USD + toBigInt(values[11]),
    planNanoUsd: toBigInt(values[12]) * NANO_PER_USD + toBigInt(values[13]),
  };
}

const toBigInt = (value: SqlValue | undefined) => typeof value === "bigint" ? value : 0n;

/** Returns the cost of the priced calls in USD; null if there are calls and none has a price. */
export function costUsd(
  counters: Pick<Counters, "modelCalls" | "unpricedCalls" | "costNanoUsd">,
): number | null {
  const nothingPriced = counters.modelCalls > 0 && counters.unpricedCalls === counters.modelCalls;
  return nothingPriced ? null : toUsd(counters.costNanoUsd);
}

/** Returns the field of what plans pay for; without any, nothing. */
export const planUsd = (planNanoUsd: NanoUsd): { plan_usd?: number } =>
  planNanoUsd === 0n ? {} : { plan_usd: toUsd(planNanoUsd) };

/** Converts counters to wire form. */
export function toTokenUsage(counters: Counters, model: string | null): TokenUsage {
  return {
    input_tokens: counters.inputTokens,
    output_tokens: counters.outputTokens,
    total_tokens: counters.totalTokens,
    cost_usd: costUsd(counters),
    model,
    cache_read_tokens: counters.cacheReadTokens,
    cache_write_tokens: counters.cacheWriteTokens,
    reasoning_tokens: counters.reasoningTokens,
    model_calls: counters.modelCalls,
    unpriced_calls: counters.unpricedCalls,
    partly_priced_calls: counters.partlyPricedCalls,
    ...planUsd(counters.planNanoUsd),
  };
}
