import type { LiveDelta, LiveModel, LiveState } from "./types.ts";

const modelOf = ({ provider, model }: LiveModel) => `${provider}:${model}`;
const byCost = (a: { cost_usd: number | null }, b: { cost_usd: number | null }) =>
  (b.cost_usd ?? -1) - (a.cost_usd ?? -1);
const newest = (a: string, b: string) => (a < b ? 1 : a > b ? -1 : 0);

/** The most entries that are kept of what only ever grows. */
const MAX_KEPT = 20;

/** Returns the state after a change: entries replace those of the same id. */
export function mergeLive(state: LiveState, { gone = {}, ...delta }: LiveDelta): LiveState {
  return {
    ...state,
    ...delta,
    agents: merge(state.agents, delta.agents, (agent) => agent.agent_id, gone.agents).sort(byCost),
    models: merge(state.models, delta.models, modelOf, gone.models).sort(byCost),
    runs: merge(state.runs, delta.runs, (run) => run.run_id, gone.runs)
      .sort((a, b) => newest(a.started_at, b.started_at)),
    alerts: merge(state.alerts, delta.alerts, (alert) => alert.alert_id)
      .sort((a, b) => newest(a.triggered_at, b.triggered_at)).slice(0, MAX_KEPT),
    refusals: merge(state.refusals, delta.refusals, (refusal) => String(refusal.event_id))
      .sort((a, b) => b.event_id - a.event_id).slice(0, MAX_KEPT),
    budgets: merge(state.budgets, delta.budgets, (budget) => budget.budget_id, gone.budgets),
  };
}

/** Returns all entries once, in their order, the changed ones in their place. */
function merge<Entry>(
  entries: readonly Entry[],
  changed: readonly Entry[] = [],
  idOf: (entry: Entry) => string,
  gone: readonly string[] = [],
): Entry[] {
  const merged = new Map(entries.map((entry) => [idOf(entry), entry]));
  for (const entry of changed) merged.set(idOf(entry), entry);
  for (const id of gone) merged.delete(id);
  return [...merged.values()];
}
