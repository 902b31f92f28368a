import { listAlerts, listRules } from "../../alerts/mod.ts";
import { listBudgets, listRefusals } from "../../budgets/mod.ts";
import type { CostSums } from "../../contract/costs.ts";
import { LIVE_SIZES } from "../../contract/limits.ts";
import type { LiveDelta, LiveState } from "../../contract/live.ts";
import { type Calendar, dateIn } from "../../contract/calendars/zones.ts";
import { startOf } from "../../contract/windows.ts";
import { type Clock, MINUTE_MS, toIso } from "../../kernel/clock.ts";
import { divideHalfEven, type NanoUsd, toUsd } from "../../kernel/money.ts";
import type { Turns } from "../../kernel/turns.ts";
import { listCosts, readCostTotal, readMinutes, type Viewer } from "../../ledger/mod.ts";
import { listAnomalies } from "../../anomalies/mod.ts";
import { countRunning, listRuns } from "../../sessions/mod.ts";
import type { Query, Store } from "../../store/mod.ts";

/** The parts of a process that the overview reads with. */
export interface LiveContext extends Calendar {
  store: Store;
  query: Query;
  clock: Clock;
  turns: Turns;
}

/** The minutes whose mean is the present pace. */
const PACE_MINUTES = 10;

/**
 * Reads the part of the overview that a viewer sees, from rollups, counters and indexes, never from the log. `limits` are those of an earlier reading,
 * if they needn't be read again.
 */
export async function readLiveState(
  ctx: LiveContext,
  viewer: Viewer,
  limits?: Pick<LiveState, "budgets" | "rules">,
): Promise<LiveState> {
  const { agentId } = viewer;
  const now = ctx.clock.now();
  const today = startOf("day", now, 0, ctx);
  const minutesFrom = startOf("minute", now, 1 - LIVE_SIZES.minutes);
  const scope = { agentId, from: today };
  const [total, ever, agents, models, runs, running, alerts, refusals, anomalies, budgets, rules] =
    await Promise
      .all([
        readCostTotal(ctx.store, scope),
        readCostTotal(ctx.store, { agentId }),
        listCosts(ctx.store, { ...scope, groupBy: "agent", limit: LIVE_SIZES.agents, offset: 0 }),
        listCosts(ctx.store, { ...scope, groupBy: "model", limit: LIVE_SIZES.models, offset: 0 }),
        listRuns(ctx, { status: "running", agentId, limit: LIVE_SIZES.runs }),
        countRunning(ctx, agentId),
        listAlerts(ctx, { limit: LIVE_SIZES.alerts, viewer }),
        listRefusals(ctx, { agentId, viewer, limit: LIVE_SIZES.refusals }),
        listAnomalies(ctx, { agentId, limit: LIVE_SIZES.anomalies }),
        limits?.budgets ?? listBudgets(ctx, { viewer, isEnabled: true, limit: LIVE_SIZES.budgets }),
        limits?.rules ?? listRules(ctx, { agentId, isEnabled: true, limit: LIVE_SIZES.rules }),
      ]);
  const ids = agents.map((row) => row.agent_id!);
  const minutes = await readMinutes(ctx.store, [agentId ?? "", ...ids], minutesFrom);
  const paceOf = (scope: string) => describeMinutes(minutes.get(scope), minutesFrom, now);
  return {
    at: toIso(now),
    time_zone: ctx.timeZone,
    day: dateIn(ctx.timeZone, now),
    minutes_from: toIso(minutesFrom),
    spend: { ...dayOf(total), ...paceOf(agentId ?? "") },
    coverage: coverageOf(ever),
    running,
    agents: agents.map((row) => ({ agent_id: row.agent_id!, ...dayOf(row), ...paceOf(row.agent_id!) })),
    models: models.map((row) => ({ provider: row.provider!, model: row.model!, ...dayOf(row) })),
    runs,
    alerts,
    refusals,
    budgets,
    rules,
    anomalies,
  };
}

const coverageOf = ({ model_calls, unpriced_calls, partly_priced_calls, estimated_calls }: CostSums) => ({
  model_calls,
  unpriced_calls,
  partly_priced_calls,
  estimated_calls,
});

const dayOf = (sums: CostSums) => ({ ...coverageOf(sums), cost_usd: sums.cost_usd });

/** Returns the spending of each minute, and the mean of the last ones. The present minute counts by the part that has passed. */
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

/** The lists of a state, with the id of an entry. */
const IDS: { [List in ListName]: (entry: LiveState[List][number]) => string } = {
  agents: ({ agent_id }) => agent_id,
  models: ({ provider, model }) => `${provider}:${model}`,
  runs: ({ run_id }) => run_id,
  alerts: ({ alert_id }) => alert_id,
  refusals: ({ event_id }) => String(event_id),
  budgets: ({ budget_id }) => budget_id,
  rules: ({ rule_id }) => rule_id,
  anomalies: ({ anomaly_id }) => anomaly_id,
};

type ListName =
  | "agents"
  | "models"
  | "runs"
  | "alerts"
  | "refusals"
  | "budgets"
  | "rules"
  | "anomalies";

const LISTS = Object.keys(IDS) as ListName[];
const FIGURES = ["time_zone", "day", "minutes_from", "spend", "coverage", "running"] as const;

/** The lists whose entries go away; old alerts, refusals and anomalies only make room for new ones. */
const WITH_GONE = ["agents", "models", "runs", "budgets", "rules"] as const;

/** Returns what has changed between two states; undefined if nothing but the time has. */
export function deltaOf(before: LiveState, after: LiveState): LiveDelta | undefined {
  const delta: Record<string, unknown> = {};
  for (const name of FIGURES) {
    if (JSON.stringify(before[name]) !== JSON.stringify(after[name])) delta[name] = after[name];
  }
  const gone: Record<string, string[]> = {};
  for (const name of LISTS) {
    const [old, current] = [textsOf(before, name), textsOf(after, name)];
    const changed = (after[name] as unknown[]).filter((_, index) => {
      const [id, text] = current.entries[index]!;
      return old.byId.get(id) !== text;
    });
    if (changed.length > 0) delta[name] = changed;
    if (!(WITH_GONE as readonly string[]).includes(name)) continue;
    const missing = old.entries.flatMap(([id]) => current.byId.has(id) ? [] : [id]);
    if (missing.length > 0) gone[name] = missing;
  }
  if (Object.keys(gone).length > 0) delta.gone = gone;
  return Object.keys(delta).length === 0 ? undefined : { at: after.at, ...delta };
}

interface Texts {
  entries: [id: string, text: string][];
  byId: ReadonlyMap<string, string>;
}

/** The entries of lists as text: each state is compared twice, with the one before and the one after it. */
const texts = new WeakMap<LiveState, Map<ListName, Texts>>();

function textsOf(state: LiveState, name: ListName): Texts {
  let lists = texts.get(state);
  if (!lists) texts.set(state, lists = new Map());
  let list = lists.get(name);
  if (!list) {
    const idOf = IDS[name] as (entry: unknown) => string;
    const entries = (state[name] as unknown[]).map((entry): [string, string] => [
      idOf(entry),
      JSON.stringify(entry),
    ]);
    lists.set(name, list = { entries, byId: new Map(entries) });
  }
  return list;
}
