import type { LiveDelta, LiveState } from "../../contract/live.ts";

/** The lists of a state, with the id of an entry. */
const IDS: { [List in ListName]: (entry: LiveState[List][number]) => string } = {
  agents: ({ agent_id }) => agent_id,
  models: ({ provider, model }) => `${provider}:${model}`,
  runs: ({ run_id }) => run_id,
  alerts: ({ alert_id }) => alert_id,
  refusals: ({ event_id }) => String(event_id),
  budgets: ({ budget_id }) => budget_id,
};

type ListName = "agents" | "models" | "runs" | "alerts" | "refusals" | "budgets";

const LISTS = Object.keys(IDS) as ListName[];
const FIGURES = ["day", "minutes_from", "spend", "running"] as const;

/** The lists whose entries go away; old alerts and refusals only make room for new ones. */
const WITH_GONE = ["agents", "models", "runs", "budgets"] as const;

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
