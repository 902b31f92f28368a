import { DATABASE_NOW, type Store } from "../store/mod.ts";
import type { BudgetGate } from "./budget_gate.ts";
import { budgetExceeded } from "./refusals.ts";
import type { ElsewhereRequest, ReservedUntil } from "./reservations.ts";

/* Reservations for calls that are made elsewhere. */

/** The gate of a process, and the database that it shares. */
interface ElsewhereContext {
  gate: Pick<BudgetGate, "admitElsewhere" | "release">;
  store: Pick<Store, "read">;
}

/**
 * Reserves for a call that is about to be made elsewhere. `onlyAgentId`: the only agent whose amounts the caller may see; `findLogOwner`
 * returns the one whose amounts the log of a refusal may have.
 *
 * @throws {BudgetExceededError} naming the budgets that refuse the call
 */
export async function reserveElsewhere(
  { gate }: Pick<ElsewhereContext, "gate">,
  request: ElsewhereRequest,
  { onlyAgentId, findLogOwner }: { onlyAgentId?: string; findLogOwner: () => Promise<string | null> },
): Promise<ReservedUntil> {
  const admission = await gate.admitElsewhere(request);
  if (admission.go) return admission;
  throw budgetExceeded({
    action: `Cannot reserve for a call of agent ${request.agentId}`,
    refusals: admission.refusals,
    because: "this one has no worst_case_usd",
    logOwner: await findLogOwner(),
    ...(onlyAgentId !== undefined && { onlyAgentId }),
  });
}

// Those of calls that are made here have their process in the id, and are released by it alone.
const FIND = `SELECT 1 FROM reservations WHERE reservation_id = ?1 AND instr(reservation_id, '/') = 0
AND (?2 IS NULL OR scope = ?2) AND NOT is_lost AND expires_at > ${DATABASE_NOW} LIMIT 1`;

/** Releases a reservation for a call elsewhere; returns false if there is none, or none of the only agent of the caller. */
export async function releaseElsewhere(
  { gate, store }: ElsewhereContext,
  reservationId: string,
  onlyAgentId?: string,
): Promise<boolean> {
  const { rows } = await store.read({ sql: FIND, args: [reservationId, onlyAgentId ?? null] });
  if (rows.length === 0) return false;
  await gate.release({ reservationId });
  return true;
}
