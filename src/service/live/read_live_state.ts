import { listAlerts } from "../../alerts/mod.ts";
import { listBudgets, listRefusals } from "../../budgets/mod.ts";
import { LIVE_SIZES, type LiveState } from "../../contract/live.ts";
import { type Clock, DAY_MS, MINUTE_MS, startOf, toIso } from "../../kernel/clock.ts";
import { divideHalfEven, type NanoUsd, toUsd } from "../../kernel/money.ts";
import type { Turns } from "../../kernel/turns.ts";
import { type CostRow, listCosts, readCostTotal, readMinutes } from "../../ledger/mod.ts";
import { countRunning, listRuns } from "../../sessions/mod.ts";
import type { Query, Store } from "../../store/mod.ts";

/** The parts of a process that the overview reads with. */
export interface LiveContext {
  store: Store;
  query: Query;
  clock: Clock;
  turns: Turns;
}

/** The reader of an overview: a key of one agent sees that agent's part only. */
export interface LiveView {
  agentId?: string;
  keyId: string | null;
}

/** The minutes whose mean is the present pace. */
const PACE_MINUTES = 10;

/**
 * Reads the overview from rollups, counters and indexes, never from the log. `budgets` are those of an earlier reading,
 * if they needn't be read again.
 */
export async function readLiveState(
  ctx: LiveContext,
  { agentId, keyId }: LiveView,
  budgets?: LiveState["budgets"],
): Promise<LiveState> {
  const now = ctx.clock.now();
  const today = startOf(now, DAY_MS);
  const minutesFrom = startOf(now, MINUTE_MS) - (LIVE_SIZES.minutes - 1) * MINUTE_MS;
  const scope = { agentId, from: today };
  const reader = agentId === undefined ? undefined : { agentId, keyId };
  const [total, agents, models, runs, running, alerts, refusals, states] = await Promise.all([
    readCostTotal(ctx.store, scope),
    listCosts(ctx.store, { ...scope, groupBy: "agent", limit: LIVE_SIZES.agents, offset: 0 }),
    listCosts(ctx.store, { ...scope, groupBy: "model", limit: LIVE_SIZES.models, offset: 0 }),
    listRuns(ctx, { status: "running", agentId, limit: LIVE_SIZES.runs }),
    countRunning(ctx, agentId),
    listAlerts(ctx, { limit: LIVE_SIZES.alerts, onlyAgentId: agentId }),
    listRefusals(ctx, { agentId, limit: LIVE_SIZES.refusals }),
    budgets ?? listBudgets(ctx, { reader, isEnabled: true, limit: LIVE_SIZES.budgets }),
  ]);
  const ids = agents.map((row) => row.agent_id!);
  const minutes = await readMinutes(ctx.store, [agentId ?? "", ...ids], minutesFrom);
  const paceOf = (scope: string) => describeMinutes(minutes.get(scope), minutesFrom, now);
  return {
    at: toIso(now),
    day: toIso(today).slice(0, 10),
    minutes_from: toIso(minutesFrom),
    spend: { ...dayOf(total), ...paceOf(agentId ?? "") },
    running,
    agents: agents.map((row) => ({ agent_id: row.agent_id!, ...dayOf(row), ...paceOf(row.agent_id!) })),
    models: models.map((row) => ({ provider: row.provider!, model: row.model!, ...dayOf(row) })),
    runs,
    alerts,
    refusals,
    budgets: states,
  };
}

const dayOf = (
  { model_calls, unpriced_calls, cost_usd }: Pick<CostRow, "model_calls" | "unpriced_calls" | "cost_usd">,
) => ({
  model_calls,
  unpriced_calls,
  cost_usd,
});

/** Returns the spending of each minute, and the mean of the last ones; of the present minute only its elapsed part counts. */
export function describeMinutes(spent: ReadonlyMap<number, NanoUsd> = new Map(), from: number, now: number) {
  const starts = Array.from({ length: LIVE_SIZES.minutes }, (_, index) => from + index * MINUTE_MS);
  const recent = starts.slice(-PACE_MINUTES);
  const sum = recent.reduce((total, start) => total + (spent.get(start) ?? 0n), 0n);
  const elapsed = BigInt(Math.max(now - recent[0]!, MINUTE_MS));
  return {
    usd_per_minute: toUsd(divideHalfEven(sum * BigInt(MINUTE_MS), elapsed)),
    minutes: starts.map((start) => toUsd(spent.get(start) ?? 0n)),
  };
}
