import { runCost } from "../ledger/mod.ts";
import type { Clock } from "../kernel/clock.ts";
import type { NanoUsd } from "../kernel/money.ts";
import type { ResultSet, SqlValue, Statement, Store } from "../store/mod.ts";
import {
  type Budget,
  type CallBounds,
  type CallDecision,
  decideCall,
  type RefusalReason,
} from "./decide_call.ts";
import { freeGoneReservations, LOST_MS, NOW, RESERVATION_MS, reservedOf } from "./reservations.ts";

/** A request to make a call. */
export interface CallRequest {
  runId: string;
  budget: Budget;
  call: CallBounds;
  /** Ends the wait. */
  signal?: AbortSignal;
  /**
   * True if the caller will probably make another call once this one is booked, and calls `endRun()` at last: then the commit
   * that books this call may reserve for the next.
   */
  hasNext?: boolean;
}

/** Permission to make one call. Its reservation is held until the call is booked or released. */
export interface Grant {
  reservationId: string;
  runId: string;
  reservedNanoUsd: NanoUsd;
  /** The upper limit of output tokens of the call in `strict` mode. */
  outputLimit?: number;
  /** Set if the commit that books the call may reserve for the next one. */
  next?: { reservationId: string; limitNanoUsd: NanoUsd };
  /**
   * Set before booking a strict call whose count never arrived: its possible cost beyond the booked one, which the budget of
   * the run loses.
   */
  lostNanoUsd?: NanoUsd;
}

/** The answer of the gate to a request. */
export type Admission =
  | { go: true; grant: Grant }
  | { go: false; reason: RefusalReason; settledNanoUsd: NanoUsd };

/** Shares a run's budget among its concurrent calls by reservations in the database, over any number of processes. */
export interface BudgetGate {
  /** Reserves the cost of a call, waiting for room where needed, or refuses. Rejects with the reason of an aborted signal. */
  admit(request: CallRequest): Promise<Admission>;
  /** Reports that the call of a grant was committed. `isNextReserved`: the commit has reserved for the next call. */
  booked(grant: Grant, isNextReserved: boolean): void;
  /** Frees the reservation of a call that has ended without a known cost. */
  release(grant: Grant): Promise<void>;
  /** Returns the statements that free all reservations of a run, for the unit that ends it. */
  endRun(runId: string): Statement[];
  /**
   * Renews the leases of this process's reservations, in one statement; called every `RENEW_MS` or more often. Writes
   * nothing unless a call has been in progress for as long.
   */
  renew(): Promise<void>;
}

/** The interval at which reservations are renewed: one that fails leaves time for another. */
export const RENEW_MS = RESERVATION_MS / 3;

/** The longest call whose reservation is renewed. A stream that its caller has dropped must not hold its budget forever. */
const LONGEST_CALL_MS = 2 * 3_600_000;

/** The state of a run that has not cost anything yet, on which the first decision is made without a read. */
const NO_COST = { settledNanoUsd: 0n, reservedNanoUsd: 0n, lostNanoUsd: 0n };

const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 500;

const REQUEST_COLUMNS = ["reservation_id", "run_id", "amount_nano_usd", "ceiling_nano_usd"];
const REQUEST = `INSERT INTO reservation_requests (${REQUEST_COLUMNS.join(", ")})
SELECT ${REQUEST_COLUMNS.map((column) => `v.${column}`).join(", ")} FROM each_row v`;
const READ = `SELECT ${runCost("?1")}, ${reservedOf("?1", " AND NOT is_lost")}, ${
  reservedOf("?1", " AND is_lost")
},
  EXISTS (SELECT 1 FROM reservations WHERE reservation_id = ?2)`;
const FREE = "DELETE FROM reservations WHERE reservation_id IN (SELECT v.reservation_id FROM each_row v)";
const LOSE =
  `UPDATE reservations SET amount_nano_usd = v.amount_nano_usd, is_lost = 1, expires_at = ${NOW} + ${LOST_MS}
FROM each_row v WHERE reservations.reservation_id = v.reservation_id`;
const RENEW = `UPDATE reservations SET expires_at = ${NOW} + ${RESERVATION_MS}
WHERE reservation_id IN (SELECT value FROM json_each(?)) AND NOT is_lost`;
// All of them, also one that was made although its commit was reported as failed.
const FREE_RUN = "DELETE FROM reservations WHERE kind = 'run' AND scope = ? AND start = 0";

/** Returns the statements that settle the reservations of calls booked in the same unit, and reserve for the next calls. */
export function settleReservations(grants: readonly Grant[]): Statement[] {
  const rows = (sql: string, columns: string[], values: SqlValue[][]): Statement[] =>
    values.length === 0 ? [] : [{ sql, each: { columns, rows: values } }];
  const lost = grants.filter(({ lostNanoUsd }) => lostNanoUsd);
  const settled = grants.filter(({ lostNanoUsd }) => !lostNanoUsd);
  return [
    ...rows(
      LOSE,
      ["reservation_id", "amount_nano_usd"],
      lost.map((each) => [each.reservationId, each.lostNanoUsd!]),
    ),
    ...rows(FREE, ["reservation_id"], settled.map(({ reservationId }) => [reservationId])),
    ...rows(REQUEST, REQUEST_COLUMNS, settled.flatMap((grant) => grant.next ? [nextRequest(grant)] : [])),
  ];
}

function nextRequest(grant: Grant): SqlValue[] {
  const { reservationId, limitNanoUsd } = grant.next!;
  return [
    reservationId,
    grant.runId,
    grant.reservedNanoUsd,
    ceilingOf({ mode: "stop", limitNanoUsd }, grant),
  ];
}

/** Returns the decision as a condition of the write, since other calls may have reserved meanwhile. */
function ceilingOf(budget: Budget, { reservedNanoUsd }: Pick<Grant, "reservedNanoUsd">): NanoUsd {
  return budget.limitNanoUsd - (budget.mode === "strict" ? reservedNanoUsd : 1n);
}

/**
 * Creates the budget gate of a process. It first decides as if the run had no cost yet, without a read, and writes the
 * reservation on the condition that it fits; only if it does not fit, it decides again on the state of the database. In the
 * loop of a run in `stop` mode, the commit that books a call reserves for the next under the same condition: that call
 * has its grant without another decision.
 */
export function createBudgetGate(options: {
  store: Store;
  clock: Clock;
  /** This process, as the holder of reservations. */
  instanceId: string;
  newId: () => string;
}): BudgetGate {
  const { store, clock, instanceId } = options;
  const newReservationId = () => `${instanceId}/${options.newId()}`;
  /** Reservations by the booking of the previous call, by run. */
  const ahead = new Map<string, Grant[]>();
  /** Reservations that this process renews, with the monotonic times at which they were made. */
  const inFlight = new Map<string, number>();
  let renewedAt = -Infinity;
  let hasLock = false;
  /** Wakes the calls of this process that wait for room in the budget of a run. */
  const waiting = new Map<string, Set<AbortController>>();

  async function reserve(request: CallRequest, decision: CallDecision & { go: true }) {
    const { runId, budget } = request;
    const grant: Grant = {
      reservationId: newReservationId(),
      runId,
      reservedNanoUsd: decision.reserveNanoUsd,
      outputLimit: decision.outputLimit,
      ...(request.hasNext && budget.mode === "stop" && {
        next: { reservationId: newReservationId(), limitNanoUsd: budget.limitNanoUsd },
      }),
    };
    const row = [grant.reservationId, runId, grant.reservedNanoUsd, ceilingOf(budget, grant)];
    if (!hasLock) {
      await store.instances.hold(instanceId);
      hasLock = true;
    }
    const [, seen] = await store.write([
      { sql: REQUEST, each: { columns: REQUEST_COLUMNS, rows: [row] } },
      { sql: READ, args: [runId, grant.reservationId] },
    ]);
    const state = readState(seen!);
    if (state.isReserved) inFlight.set(grant.reservationId, clock.monotonic());
    return { grant, ...state };
  }

  async function read(runId: string) {
    const { isReserved: _, ...state } = readState(await store.read({ sql: READ, args: [runId, null] }));
    return state;
  }

  function freeAhead(runId: string): Statement[] {
    const grants = ahead.get(runId) ?? [];
    ahead.delete(runId);
    return grants.map(({ reservationId }) => free(reservationId));
  }

  /** Returns the statement that frees a reservation, which is not renewed from now on, whether that succeeds or not. */
  function free(reservationId: string): Statement {
    inFlight.delete(reservationId);
    return freeStatement(reservationId);
  }

  async function pause(runId: string, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    const woken = new AbortController();
    const pauses = waiting.get(runId) ?? new Set();
    waiting.set(runId, pauses.add(woken));
    try {
      await clock.sleep(delayMs, signal ? AbortSignal.any([signal, woken.signal]) : woken.signal);
    } finally {
      pauses.delete(woken);
      if (pauses.size === 0) waiting.delete(runId);
    }
  }

  function wake(runId: string): void {
    for (const pause of waiting.get(runId) ?? []) pause.abort();
  }

  return {
    async admit(request: CallRequest): Promise<Admission> {
      const { runId, budget, call, signal } = request;
      signal?.throwIfAborted();
      if (request.hasNext) {
        const early = ahead.get(runId)?.pop();
        if (early) return { go: true, grant: early };
      } else if (ahead.get(runId)?.length) {
        // The loop may be in a tool that waits for this call, while its reservation for the next call blocks it.
        await store.write(freeAhead(runId));
      }
      let state = NO_COST;
      let delayMs = FIRST_POLL_MS;
      for (;;) {
        signal?.throwIfAborted();
        const decision = decideCall({ budget, ...state, call });
        if (decision.go && decision.isUnreserved) {
          if (state !== NO_COST) {
            return { go: true, grant: { reservationId: newReservationId(), runId, reservedNanoUsd: 0n } };
          }
          // No write decides again, so the state must be that of the database.
          state = await read(runId);
          continue;
        }
        if (decision.go) {
          const { grant, isReserved, ...seen } = await reserve(request, decision);
          if (isReserved) return { go: true, grant };
          state = seen;
          continue;
        }
        if (!decision.wait) {
          const { settledNanoUsd } = await read(runId);
          return { go: false, reason: decision.reason, settledNanoUsd };
        }
        await pause(runId, delayMs, signal);
        delayMs = Math.min(delayMs * 1.5, LONGEST_POLL_MS);
        signal?.throwIfAborted();
        await freeGoneReservations({ store, instanceId }, runId);
        state = await read(runId);
      }
    },
    booked(grant, isNextReserved) {
      const { next } = grant;
      inFlight.delete(grant.reservationId);
      wake(grant.runId);
      if (!next || !isNextReserved) return;
      const reserved = {
        ...grant,
        reservationId: next.reservationId,
        next: { ...next, reservationId: newReservationId() },
      };
      inFlight.set(next.reservationId, clock.monotonic());
      const others = ahead.get(grant.runId);
      if (others) others.push(reserved);
      else ahead.set(grant.runId, [reserved]);
    },
    async release(grant) {
      await store.write([free(grant.reservationId)]);
      wake(grant.runId);
    },
    endRun(runId) {
      for (const { reservationId } of ahead.get(runId) ?? []) inFlight.delete(reservationId);
      ahead.delete(runId);
      return [{ sql: FREE_RUN, args: [runId] }];
    },
    async renew() {
      const now = clock.monotonic();
      if (now - renewedAt < RENEW_MS / 2) return; // another caller has just done it
      const old: string[] = [];
      for (const [reservationId, since] of inFlight) {
        if (now - since > LONGEST_CALL_MS) inFlight.delete(reservationId);
        else if (now - since >= RENEW_MS) old.push(reservationId);
      }
      if (old.length === 0) return;
      await store.write([{ sql: RENEW, args: [JSON.stringify(old)] }]);
      renewedAt = now;
    },
  };
}

function freeStatement(reservationId: string): Statement {
  return { sql: FREE, each: { columns: ["reservation_id"], rows: [[reservationId]] } };
}

function readState(result: ResultSet) {
  const [settledNanoUsd, reservedNanoUsd, lostNanoUsd, isReserved] = result.rows[0] as [
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  return { settledNanoUsd, reservedNanoUsd, lostNanoUsd, isReserved: isReserved === 1n };
}
