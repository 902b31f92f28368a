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
}

/** The leave to make one call. Its reservation is held until the call is booked or released. */
export interface Grant {
  reservationId: string;
  runId: string;
  reservedNanoUsd: NanoUsd;
  /** Set in `strict` mode: the call may not ask for more output tokens. */
  outputLimit?: number;
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
  /** What to add to the unit that books the call, so that its reservation goes with that commit. */
  bookingStatements(grant: Grant): Statement[];
  /** Frees the reservation of a call that was booked, or that never cost anything. */
  release(grant: Grant, isBooked: boolean): Promise<void>;
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
