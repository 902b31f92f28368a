import type { NanoUsd } from "../../kernel/money.ts";
import { ALL_SEEING, type Scopes, type Viewer } from "../../ledger/mod.ts";
import { DATABASE_NOW, type Statement, type Store } from "../../store/mod.ts";
import type { BudgetGate } from "../budget_gate.ts";
import { readNames } from "../../keys/mod.ts";
import type { CallSubjects } from "../call_to_decide.ts";
import { budgetExceeded } from "../refusals.ts";
import { isElsewhere } from "./reservations.ts";

/** A request to reserve for a call that is made elsewhere. */
export type ElsewhereRequest = Omit<Scopes, "runId"> & {
  /** The tags, the model and others that budgets name, as far as they are known before the call. */
  subjects: Partial<CallSubjects>;
  estimateNanoUsd: NanoUsd;
  /** The most that it can cost; null if that is unknown, so that a strict budget refuses it. */
  worstNanoUsd: NanoUsd | null;
  ttlMs: number;
  /** Returns statements for the commit that reserves. */
  alongWith?(made: ReservedUntil): Statement[];
};

/** A reservation for a call that is made elsewhere. */
export interface ReservedUntil {
  reservationId: string;
  expiresAt: number;
}

/** The gate of a process, and the database that it shares. */
interface ElsewhereContext {
  gate: Pick<BudgetGate, "admitElsewhere" | "release">;
  store: Pick<Store, "read">;
}

/**
 * Reserves for a call that is about to be made elsewhere. `findLogOwner` returns the agent whose amounts the log of a refusal may
 * have.
 *
 * @throws {BudgetExceededError} naming the budgets that refuse the call
 */
export async function reserveElsewhere(
  { gate, store }: ElsewhereContext,
  request: ElsewhereRequest,
  { viewer, findLogOwner }: { viewer: Viewer; findLogOwner: () => Promise<string | null> },
): Promise<ReservedUntil> {
  const { provider, model } = request.subjects;
  const admission = await gate.admitElsewhere(request);
  if (admission.go) return admission;
  throw budgetExceeded({
    action: `Cannot reserve for a call of agent ${request.agentId}`,
    refusals: admission.refusals,
    because: "this one has no worst_case_usd",
    ...(provider && model && { model: { provider, model } }),
    scopes: request,
    names: await readNames({ store }, admission.refusals.map(({ standing }) => standing.scope)),
    runCostNanoUsd: null,
    viewer,
    logOwner: await findLogOwner(),
  });
}

const FIND = `SELECT 1 FROM reservations WHERE reservation_id = ?1 AND ${isElsewhere("reservation_id")}
AND (CAST(?2 AS TEXT) IS NULL OR scope = ?2) AND is_lost = 0 AND expires_at > ${DATABASE_NOW} LIMIT 1`;

/** Releases a reservation for a call elsewhere; returns false if there is none that the caller may see. */
export async function releaseElsewhere(
  { gate, store }: ElsewhereContext,
  reservationId: string,
  viewer: Viewer = ALL_SEEING,
): Promise<boolean> {
  const { rows } = await store.read({ sql: FIND, args: [reservationId, viewer.agentId ?? null] });
  if (rows.length === 0) return false;
  await gate.release({ reservationId });
  return true;
}
