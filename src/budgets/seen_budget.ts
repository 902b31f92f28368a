import { PurserError } from "../kernel/errors.ts";
import { ALL_CALLS, entityOf, scopeOf, type Viewer } from "../ledger/mod.ts";
import type { BudgetRow } from "./budget_fields.ts";

/**
 * Returns a budget over all calls as one that counts what its viewer may see: of many counters the viewer's own, or those of
 * its runs and sessions. Undefined where the amounts are those of other agents too.
 */
export function asSeenBy(row: BudgetRow, viewer: Viewer): BudgetRow | undefined {
  const { agentId } = viewer;
  if (agentId === undefined || row.scope !== ALL_CALLS) return row;
  const { per, each, shape } = row;
  const ofAgent = scopeOf("agent", agentId);
  if (shape !== null) return undefined;
  if (per === "run" || per === "session" || each === "session") return { ...row, scope: ofAgent };
  const own = viewer.scopes.find((scope) => entityOf(scope)?.kind === each);
  return own === undefined ? undefined : { ...row, scope: own, each: null };
}

/** Refuses to list what has the amounts of other agents. Throws `forbidden`. */
export function checkAmountsOf(row: BudgetRow, viewer: Viewer, what: string): void {
  if (asSeenBy(row, viewer) !== undefined) return;
  throw new PurserError(
    "forbidden",
    `Cannot list the ${what} of budget ${row.budgetId}: it is over all agents, and this API key is for agent ` +
      `${viewer.agentId} only`,
    { details: { agent_id: viewer.agentId } },
  );
}
