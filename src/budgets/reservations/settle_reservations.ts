import type { NanoUsd } from "../../kernel/money.ts";
import type { Statement } from "../../store/mod.ts";
import type { Grant } from "../budget_gate.ts";
import { freeStatements, keepStatements, loseStatements } from "./reservations.ts";

/** Returns whether the commit that books a call may keep its reservation. */
export function mayBeKept(
  { hasNext, lostNanoUsd }: Pick<Grant, "hasNext" | "lostNanoUsd">,
  costNanoUsd: NanoUsd | null,
): boolean {
  return hasNext && !lostNanoUsd && costNanoUsd !== null;
}

/** The next call of a run has a longer prompt: in percent of this call, what is kept for it at least, and what is reserved if it is less. */
const ROOM_OF_RUN = { atLeast: 125n, made: 150n };
const ROOM = { atLeast: 100n, made: 100n };

/**
 * Returns the estimate with which a reservation is kept for the next call, if it is another one than it has: no less than the
 * estimate and the cost of this call.
 */
export function keptEstimate(
  { amounts, ownNanoUsd, scopes }: Pick<Grant, "amounts" | "ownNanoUsd" | "scopes">,
  costNanoUsd: NanoUsd,
): NanoUsd | undefined {
  const call = costNanoUsd > ownNanoUsd ? costNanoUsd : ownNanoUsd;
  const { atLeast, made } = scopes.runId === null ? ROOM : ROOM_OF_RUN;
  return amounts.estimateNanoUsd * 100n < call * atLeast ? call * made / 100n : undefined;
}

/**
 * Returns the statements that settle the reservations of calls booked in the same unit: those that keep some for the next
 * calls, where no budget is near a limit, and those that free the others.
 */
export function settleReservations(
  booked: readonly { grant: Grant; costNanoUsd: NanoUsd | null }[],
): { keep: Statement[]; free: Statement[] } {
  const lost: { reservationId: string; lostNanoUsd: NanoUsd }[] = [];
  const freed: string[] = [];
  const kept: { reservationId: string; higherNanoUsd: NanoUsd | undefined }[] = [];
  for (const { grant, costNanoUsd } of booked) {
    const { reservationId, lostNanoUsd } = grant;
    if (lostNanoUsd) lost.push({ reservationId, lostNanoUsd });
    else if (costNanoUsd === null || !mayBeKept(grant, costNanoUsd)) freed.push(reservationId);
    else kept.push({ reservationId, higherNanoUsd: keptEstimate(grant, costNanoUsd) });
  }
  return { keep: keepStatements(kept), free: [...loseStatements(lost), ...freeStatements(freed)] };
}
