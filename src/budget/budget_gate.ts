import type { NanoUsd } from "../money.ts";
import type { ResultSet, Statement } from "../store/mod.ts";
import type { Budget, CallBounds, RefusalReason } from "./decide_call.ts";

/** A call that wants to be made. */
export interface CallRequest {
  runId: string;
  budget: Budget;
  call: CallBounds;
  /** Ends the waiting. */
  signal?: AbortSignal;
  /**
   * Whether the same caller will probably ask again once the call is booked, and will `leave` in the end: then
   * a gate in a shared database may reserve for the next call in the commit that books this one.
   */
  hasNext?: boolean;
}

/** The leave to make one call. Its reservation is held until the call is booked or released. */
export interface Grant {
  reservationId: string;
  runId: string;
  reservedNanoUsd: NanoUsd;
  /** Set in `strict` mode: the call may not ask for more output tokens. */
  outputLimit?: number;
  /** Set where the commit that books the call may reserve for the next one. */
  next?: { reservationId: string; limitNanoUsd: NanoUsd };
  /**
   * Set before a strict call is booked whose count never arrived: how much more it may have cost than is
   * booked. The run's budget goes without it from then on.
   */
  lostNanoUsd?: NanoUsd;
}

/** What the gate says to a request. */
export type Admission =
  | { go: true; grant: Grant }
  | { go: false; reason: RefusalReason; settledNanoUsd: NanoUsd };

/**
 * Shares a run's budget among its concurrent calls by reservations. Two drivers: in memory where one
 * process owns the database, in the database where many do.
 */
export interface BudgetGate {
  /** Waits for room and reserves it, or refuses. Rejects with the signal's reason when that aborts. */
  admit(request: CallRequest): Promise<Admission>;
  /** What to add, after the call itself, to the unit that books it, so that its reservation goes with that commit. */
  bookingStatements(grant: Grant): Statement[];
  /** Hears what those statements gave, after the commit. */
  booked(grant: Grant, results: readonly ResultSet[]): void;
  /** Frees the reservation of a call that was not booked, for it never cost anything that is known. */
  release(grant: Grant): Promise<void>;
  /** What to add to the unit that ends a run, so that nothing stays reserved for a call that never comes. */
  leave(runId: string): Statement[];
  /**
   * Calls of the run were committed, by whomever: what all its calls have cost now. A total, not a
   * difference, so that hearing of a commit twice changes nothing.
   */
  settle(runId: string, settledNanoUsd: NanoUsd): void;
}

/** Reads the first integer of a result; 0 where there is no row. */
export function firstInteger(result: ResultSet | undefined): bigint {
  return BigInt(result?.rows[0]?.[0] as bigint | null ?? 0n);
}
