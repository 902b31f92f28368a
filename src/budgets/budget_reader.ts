import { PurserError } from "../kernel/errors.ts";
import { keyScope } from "../ledger/mod.ts";
import type { BudgetRow } from "./budget_fields.ts";

/** An API key of one agent. It reads the budgets of that agent, of its sessions, of the key itself, and those that bind it. */
export interface BudgetReader {
  agentId: string;
  keyId: string | null;
}

/**
 * Returns a budget over all calls as one that counts what its reader may see: of many counters the reader's own, or those of
 * its runs and sessions. Undefined where the amounts are those of other agents too.
 */
export function asSeenBy(row: BudgetRow, reader: BudgetReader | undefined): BudgetRow | undefined {
  if (!reader || row.scope !== "") return row;
  const { agentId, keyId } = reader;
  if (row.per === "run" || row.per === "session" || row.each === "session") return { ...row, scope: agentId };
  if (row.each === "agent") return { ...row, scope: agentId, each: null };
  if (row.each === "key" && keyId !== null) return { ...row, scope: keyScope(keyId), each: null };
  return undefined;
}

/** Refuses to list what has the amounts of other agents. Throws `forbidden`. */
export function checkAmountsOf(row: BudgetRow, reader: BudgetReader | undefined, what: string): void {
  if (!reader || asSeenBy(row, reader) !== undefined) return;
  throw new PurserError(
    "forbidden",
    `Cannot list the ${what} of budget ${row.budgetId}: it is over all agents, and this API key is for agent ` +
      `${reader.agentId} only`,
    { details: { agent_id: reader.agentId } },
  );
}
