import type { BudgetCounter } from "../contract/budgets/budget_state.ts";
import { ALL_AGENTS, keyScope } from "../ledger/mod.ts";

/*
 * Scopes: the calls that a budget or one of its counters adds up, as one text. '' is all calls; an agent's id; `session`,
 * `key` or `run`, a blank and an id. No agent's id has a blank.
 */

/** The scope of a session's counters. */
export const sessionScope = (sessionId: string) => `session ${sessionId}`;

/** The scope of a run's counters. */
export const runScope = (runId: string) => `run ${runId}`;

/** The fields by which a budget names the calls that it counts; at most one is given. */
export interface Named {
  agent_id?: string | null | undefined;
  session_id?: string | null | undefined;
  key_id?: string | null | undefined;
}

/** Returns the scope of a budget. */
export function scopeOf({ agent_id, session_id, key_id }: Named): string {
  if (session_id != null) return sessionScope(session_id);
  if (key_id != null) return keyScope(key_id);
  return agent_id ?? ALL_AGENTS;
}

/** Returns the agent, session, key or run of a scope; undefined for all calls. */
export function entityOf(scope: string): BudgetCounter | undefined {
  if (scope === ALL_AGENTS) return undefined;
  const blank = scope.indexOf(" ");
  if (blank === -1) return { kind: "agent", id: scope };
  return { kind: scope.slice(0, blank) as BudgetCounter["kind"], id: scope.slice(blank + 1) };
}

/** Returns the text of a scope: `all`, `agent researcher`, `session ses_…`. */
export function scopeText(scope: string): string {
  if (scope === "") return "all";
  return scope.includes(" ") ? scope : `agent ${scope}`;
}
