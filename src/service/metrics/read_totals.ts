import { NANO_PER_USD, type NanoUsd } from "../../kernel/money.ts";
import type { SqlValue, Statement, Store } from "../../store/mod.ts";

/** The lifetime totals of one model. The kinds of tokens don't overlap. */
export interface ModelTotals {
  /** Set if totals are grouped by agent. */
  agentId?: string;
  provider: string;
  model: string;
  modelCalls: bigint;
  unpricedCalls: bigint;
  /** Without cache reads and writes. */
  inputTokens: bigint;
  cacheReadTokens: bigint;
  cacheWriteTokens: bigint;
  /** Without reasoning. */
  outputTokens: bigint;
  reasoningTokens: bigint;
  costNanoUsd: NanoUsd;
}

/** The totals of the whole service at one moment. */
export interface ServiceTotals {
  models: ModelTotals[];
  /** Runs that have ended, by status. */
  runs: ReadonlyMap<string, bigint>;
  /** Alerts that have fired, by severity. */
  alerts: ReadonlyMap<string, bigint>;
  /** Settled deliveries by channel and outcome. */
  deliveries: { channel: string; outcome: string; count: bigint }[];
  /** Pending deliveries by channel. */
  waiting: ReadonlyMap<string, bigint>;
}

const SUMS = `sum(model_calls), sum(unpriced_calls),
  sum(input_tokens - cache_read_tokens - cache_write_tokens), sum(cache_read_tokens), sum(cache_write_tokens),
  sum(output_tokens - reasoning_tokens), sum(reasoning_tokens),
  sum(whole_usd), sum(rest_nano_usd)`;

const BY_MODEL = `SELECT NULL, provider, model, ${SUMS} FROM total_usage GROUP BY provider, model`;
const BY_AGENT =
  `SELECT agent_id, provider, model, ${SUMS} FROM total_usage GROUP BY agent_id, provider, model`;
const TALLIES = "SELECT what, name, outcome, count FROM tallies";
const WAITING = `SELECT channel, count(*) FROM deliveries INDEXED BY deliveries_due
WHERE status = 'pending' GROUP BY channel`;

/** Returns the statements of `readTotals`: they read rollups, the few calls after them, and pending deliveries. */
export function totalsStatements({ byAgent }: { byAgent: boolean }): Statement[] {
  return [{ sql: byAgent ? BY_AGENT : BY_MODEL }, { sql: TALLIES }, { sql: WAITING }];
}

/** Reads the totals of all calls, runs, alerts and deliveries. */
export async function readTotals(
  store: Pick<Store, "readAll">,
  options: { byAgent: boolean },
): Promise<ServiceTotals> {
  const [models, tallies, waiting] = await store.readAll(totalsStatements(options));
  const rows = tallies!.rows as [what: string, name: string, outcome: string, count: bigint][];
  const counted = (what: string) => rows.filter(([each]) => each === what);
  return {
    models: models!.rows.map(toModelTotals),
    runs: new Map(counted("run").map(([, status, , count]) => [status, count])),
    alerts: new Map(counted("alert").map(([, severity, , count]) => [severity, count])),
    deliveries: counted("delivery").map(([, channel, outcome, count]) => ({ channel, outcome, count })),
    waiting: new Map(waiting!.rows.map(([channel, count]) => [channel as string, count as bigint])),
  };
}

function toModelTotals([agentId, provider, model, ...sums]: SqlValue[]): ModelTotals {
  const [calls, unpriced, input, cacheRead, cacheWrite, output, reasoning, usd, rest] = sums as bigint[];
  return {
    ...(agentId !== null && { agentId: agentId as string }),
    provider: provider as string,
    model: model as string,
    modelCalls: calls!,
    unpricedCalls: unpriced!,
    inputTokens: input!,
    cacheReadTokens: cacheRead!,
    cacheWriteTokens: cacheWrite!,
    outputTokens: output!,
    reasoningTokens: reasoning!,
    costNanoUsd: usd! * NANO_PER_USD + rest!,
  };
}
