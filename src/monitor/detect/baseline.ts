import { NANO_PER_USD, type NanoUsd } from "../../kernel/money.ts";
import { startOf, startSql } from "../../contract/windows.ts";
import { HOUR_MS } from "../../kernel/clock.ts";
import { tailEntries, usageOfIds } from "../../ledger/mod.ts";
import { indexedBy, ORDERED_JOIN, type SqlValue, type Store } from "../../store/mod.ts";
import { BASELINE_MS, KEPT } from "./limits.ts";
import type { Unit } from "./observation.ts";

/** Statistics of the values of hours or runs, which are whole numbers of nano-USD or of calls. */
export interface BaselineStats {
  /** The number of hours, or of runs. */
  hours: number;
  /** The number of calls in them; of runs their own number. */
  calls: number;
  median: bigint;
  /** The median absolute deviation (MAD), which a few extreme hours hardly change. */
  deviation: bigint;
  /** The 90th percentile (nearest rank). */
  peak: bigint;
}

/** Computes the statistics of values; undefined for an empty list. */
export function computeStats(values: readonly bigint[], calls: number): BaselineStats | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort(compare);
  const median = medianOf(sorted);
  const distances = sorted.map((value) => (value > median ? value - median : median - value)).sort(compare);
  return {
    hours: values.length,
    calls,
    median,
    deviation: medianOf(distances),
    peak: sorted[Math.ceil(sorted.length * 0.9) - 1]!,
  };
}

/** Returns the middle value, or the mean of the two in the middle, rounded down. */
function medianOf(sorted: readonly bigint[]): bigint {
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2n;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The baseline of an agent: its last 14 days. */
export interface Baseline {
  /** Its calls per hour, of the hours in which it made any. */
  hourCalls: BaselineStats | undefined;
  /** Its spending in these hours, in nano-USD. */
  hourCosts: BaselineStats | undefined;
  /** The mean cost of a priced call in an hour, in nano-USD, by provider and model: see `modelKey`. */
  callCosts: ReadonlyMap<string, BaselineStats>;
}

// Hour by hour, since the rollup's key begins with the hour: the cost doesn't depend on the number of agents.
const READ = `WITH RECURSIVE hours(hour) AS (
  SELECT ?1 UNION ALL SELECT hour - ${HOUR_MS} FROM hours WHERE hour > ?2
)
SELECT hour, provider, model, sum(model_calls), sum(unpriced_calls), sum(whole_usd), sum(rest_nano_usd)
FROM (
  SELECT s.hour, provider, model, model_calls, unpriced_calls, whole_usd, rest_nano_usd
  FROM hours h ${ORDERED_JOIN} usage_hours s ON s.hour = h.hour AND s.agent_id = ?3
  UNION ALL SELECT hour, provider, model, model_calls, unpriced_calls, whole_usd, rest_nano_usd
  FROM (${
  tailEntries(
    `${startSql("hour", "at")} AS hour, provider, model`,
    `agent_id = ?3 AND at >= ?2 AND at < ?1 + ${HOUR_MS}`,
  )
}) tail
) entries GROUP BY hour, provider, model ORDER BY hour, provider, model LIMIT 20000`;

/** Returns the key of a model in `callCosts`. */
export function modelKey({ provider, model }: { provider: string; model: string }): string {
  return `${provider}:${model}`;
}

/** Reads the baseline of an agent from the 14 days before the hour of `now`, without that hour. */
export async function readBaseline(store: Store, agentId: string, now: number): Promise<Baseline> {
  const thisHour = startOf("hour", now);
  const { rows } = await store.read({
    sql: READ,
    args: [thisHour - HOUR_MS, thisHour - BASELINE_MS, agentId],
  });
  const hours = new Map<unknown, bigint>();
  const costs = new Map<unknown, bigint>();
  const models = new Map<string, { means: bigint[]; calls: bigint }>();
  for (const row of rows) {
    const [hour, provider, model, calls, unpriced, wholeUsd, restNanoUsd] = row as [
      bigint,
      string,
      string,
      bigint,
      bigint,
      bigint,
      bigint,
    ];
    const costNanoUsd = wholeUsd * NANO_PER_USD + restNanoUsd;
    hours.set(hour, (hours.get(hour) ?? 0n) + calls);
    costs.set(hour, (costs.get(hour) ?? 0n) + costNanoUsd);
    const priced = calls - unpriced;
    if (priced <= 0n) continue;
    const key = modelKey({ provider, model });
    const known = models.get(key) ?? { means: [], calls: 0n };
    if (!models.has(key) && models.size >= KEPT.modelsPerBaseline) continue;
    known.means.push(costNanoUsd / priced);
    known.calls += priced;
    models.set(key, known);
  }
  const total = [...hours.values()].reduce((sum, calls) => sum + calls, 0n);
  return {
    hourCalls: computeStats([...hours.values()], Number(total)),
    hourCosts: computeStats([...costs.values()], Number(total)),
    callCosts: new Map(
      [...models].map(([key, { means, calls }]) => [key, computeStats(means, Number(calls))!]),
    ),
  };
}

const READ_HOUR = `SELECT agent_id, sum(model_calls), sum(whole_usd), sum(rest_nano_usd) FROM (
  SELECT s.agent_id, s.model_calls, s.whole_usd, s.rest_nano_usd
  FROM json_each(?2) j ${ORDERED_JOIN} usage_hours s ON s.hour = ?1 AND s.agent_id = j.value
  UNION ALL SELECT agent_id, model_calls, whole_usd, rest_nano_usd
  FROM (${
  tailEntries(
    "agent_id",
    `at >= ?1 AND at < ?1 + ${HOUR_MS} AND agent_id IN (SELECT value FROM json_each(?2))`,
  )
}) tail
) entries GROUP BY agent_id`;

/** The calls and the spending of an agent in an hour. */
export interface HourUsage {
  calls: number;
  costNanoUsd: NanoUsd;
}

/** Reads the calls and the spending of agents in one UTC hour, booked by any process. */
export async function readHours(
  store: Store,
  hour: number,
  agentIds: readonly string[],
): Promise<Map<string, HourUsage>> {
  const { rows } = await store.read({ sql: READ_HOUR, args: [hour, JSON.stringify(agentIds)] });
  return new Map(rows.map(([agentId, calls, wholeUsd, restNanoUsd]) => [
    String(agentId),
    { calls: Number(calls), costNanoUsd: nanoUsdOf(wholeUsd, restNanoUsd) },
  ]));
}

/** Adds the sums of whole dollars and of their rests. */
function nanoUsdOf(wholeUsd: SqlValue | undefined, restNanoUsd: SqlValue | undefined): NanoUsd {
  return ((wholeUsd ?? 0n) as bigint) * NANO_PER_USD + ((restNanoUsd ?? 0n) as bigint);
}

const COSTS = {
  run: `SELECT run_id, sum(whole_usd), sum(rest_nano_usd) FROM ${usageOfIds("run", "?1")} GROUP BY run_id`,
  // Of one agent: a session may have calls of several agents, whose keys see only their own.
  session: `SELECT session_id, sum(cost_nano_usd / ${NANO_PER_USD}), sum(cost_nano_usd % ${NANO_PER_USD})
FROM json_each(?1) j ${ORDERED_JOIN} calls ${
    indexedBy("calls_by_session")
  } ON session_id = j.value AND agent_id = ?2
GROUP BY session_id`,
};

/** Reads the cost of runs, or the spending of an agent in sessions, by id. */
export async function readRunCosts(
  store: Pick<Store, "read">,
  kind: Unit["kind"],
  ids: readonly string[],
  agentId: string,
): Promise<Map<string, NanoUsd>> {
  const args = [JSON.stringify(ids), ...kind === "session" ? [agentId] : []];
  const { rows } = await store.read({ sql: COSTS[kind], args });
  return new Map(rows.map(([id, wholeUsd, restNanoUsd]) => [String(id), nanoUsdOf(wholeUsd, restNanoUsd)]));
}

/** Of the latest runs, or sessions, of all agents, and of those of one agent. */
const MAX_RUNS = { read: 5_000, compared: 1_000 };

const COSTS_BEFORE = (kind: Unit["kind"]) => {
  const [time, index] = kind === "run"
    ? ["first_at", "usage_runs_latest"]
    : ["last_at", "usage_sessions_updated"];
  const columns = `${kind}_id AS id, agent_id, whole_usd, rest_nano_usd`;
  return `SELECT sum(whole_usd), sum(rest_nano_usd) FROM (
  SELECT id, whole_usd, rest_nano_usd FROM (SELECT ${columns} FROM usage_${kind}s ${indexedBy(index)}
    WHERE ${time} >= ?2 ORDER BY ${time} DESC LIMIT ${MAX_RUNS.read}) latest WHERE agent_id = ?1
  UNION ALL SELECT id, whole_usd, rest_nano_usd FROM (${
    tailEntries(`${kind}_id AS id`, `agent_id = ?1 AND ${kind}_id IS NOT NULL AND at >= ?2`)
  }) tail
) entries WHERE id <> ?3 GROUP BY id ORDER BY id LIMIT ${MAX_RUNS.compared}`;
};

/** Reads the baseline of the cost of a run or session: those of its agent in the last 14 days, without it. */
export async function readRunBaseline(
  store: Pick<Store, "read">,
  { kind, id }: Unit,
  { agentId, now }: { agentId: string; now: number },
): Promise<BaselineStats | undefined> {
  const { rows } = await store.read({ sql: COSTS_BEFORE(kind), args: [agentId, now - BASELINE_MS, id] });
  const costs = rows.map(([wholeUsd, restNanoUsd]) => nanoUsdOf(wholeUsd, restNanoUsd)).filter((cost) =>
    cost > 0n
  );
  return computeStats(costs, costs.length);
}
