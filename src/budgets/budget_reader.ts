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
