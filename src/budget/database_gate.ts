import type { Clock } from "../clock.ts";
import { DATABASE_NOW, type Statement, type Store } from "../store/mod.ts";
import {
  type Admission,
  type BudgetGate,
  type CallRequest,
  firstInteger,
  type Grant,
} from "./budget_gate.ts";
import { type Budget, type CallDecision, decideCall } from "./decide_call.ts";

/** A reservation that nobody gave back, because its instance died outside a run, counts no longer than this. */
export const RESERVATION_MS = 15 * 60_000;

const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 500;
const NOW = DATABASE_NOW;
const SETTLED = "SELECT coalesce((SELECT cost_nano_usd FROM spend_runs WHERE run_id = ?1), 0)";
const TAKEN =
  `SELECT coalesce(sum(amount_nano_usd), 0) FROM reservations WHERE run_id = ?1 AND expires_at > ${NOW}`;
const RESERVED = `${TAKEN} AND NOT is_lost`;
const LOST = `${TAKEN} AND is_lost`;
const RESERVE = `INSERT INTO reservations (reservation_id, run_id, amount_nano_usd, expires_at)
SELECT ?2, ?1, ?3, ${NOW} + ${RESERVATION_MS}
WHERE (${SETTLED}) + (${TAKEN}) <= ?4`;
const IS_RESERVED = "SELECT count(*) FROM reservations WHERE reservation_id = ?";
const FREE = "DELETE FROM reservations WHERE reservation_id = ?";
const LOSE = "UPDATE reservations SET amount_nano_usd = ?2, is_lost = 1 WHERE reservation_id = ?1";
const FREE_RUN = "DELETE FROM reservations WHERE run_id = ?";

/**
 * Reservations in the database, for instances that share one. What a call may reserve follows from its own
 * bounds, so it is written at once, on the condition that it fits; only where it does not is the decision made
 * on what the write saw. In the loop of a run, the commit that books a call reserves for the next.
 */
export function createDatabaseGate(options: {
  store: Store;
  clock: Clock;
  newReservationId: () => string;
}): BudgetGate {
  const { store, clock, newReservationId } = options;
  /** Reserved by the booking of the call before, by run. */
  const ahead = new Map<string, Grant[]>();

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
    const [, settled, reserved, isReserved, lost] = await store.write([
      reserveStatement(grant, budget),
      { sql: SETTLED, args: [runId] },
      { sql: RESERVED, args: [runId] },
      { sql: IS_RESERVED, args: [grant.reservationId] },
      { sql: LOST, args: [runId] },
    ]);
    return {
      grant: firstInteger(isReserved) === 1n ? grant : undefined,
      settledNanoUsd: firstInteger(settled),
      reservedNanoUsd: firstInteger(reserved),
      lostNanoUsd: firstInteger(lost),
    };
  }

  function freeAhead(runId: string): Statement[] {
    const grants = ahead.get(runId) ?? [];
    ahead.delete(runId);
    return grants.map((grant) => ({ sql: FREE, args: [grant.reservationId] }));
  }

  return {
    async admit(request: CallRequest): Promise<Admission> {
      const { runId, budget, call, signal } = request;
      signal?.throwIfAborted();
      if (request.hasNext) {
        const early = ahead.get(runId)?.pop();
        if (early) return { go: true, grant: early };
      } else if (ahead.get(runId)?.length) {
        // The loop may be in a tool that waits for this very call, and would keep its room from it.
        await store.write(freeAhead(runId));
      }
      let state = { settledNanoUsd: 0n, reservedNanoUsd: 0n, lostNanoUsd: 0n };
      let delayMs = FIRST_POLL_MS;
      for (;;) {
        signal?.throwIfAborted();
        const decision = decideCall({ budget, ...state, call });
        if (decision.go) {
          const { grant, ...seen } = await reserve(request, decision);
          if (grant) return { go: true, grant };
          state = seen;
          continue;
        }
        if (!decision.wait) {
          const settled = firstInteger(await store.read({ sql: SETTLED, args: [runId] }));
          return { go: false, reason: decision.reason, settledNanoUsd: settled };
        }
        await clock.sleep(delayMs, signal);
        delayMs = Math.min(delayMs * 1.5, LONGEST_POLL_MS);
        signal?.throwIfAborted();
        const [settled, reserved, lost] = await store.readAll([
          { sql: SETTLED, args: [runId] },
          { sql: RESERVED, args: [runId] },
          { sql: LOST, args: [runId] },
        ]);
        state = {
          settledNanoUsd: firstInteger(settled),
          reservedNanoUsd: firstInteger(reserved),
          lostNanoUsd: firstInteger(lost),
        };
      }
    },
    bookingStatements(grant) {
      const { next, lostNanoUsd } = grant;
      if (lostNanoUsd) return [{ sql: LOSE, args: [grant.reservationId, lostNanoUsd] }];
      const free = { sql: FREE, args: [grant.reservationId] };
      if (!next) return [free];
      const budget = { limitNanoUsd: next.limitNanoUsd, mode: "stop" } as const;
      return [
        free,
        reserveStatement({ ...grant, reservationId: next.reservationId }, budget),
        { sql: IS_RESERVED, args: [next.reservationId] },
      ];
    },
    booked(grant, results) {
      const { next } = grant;
      if (!next || firstInteger(results[2]) !== 1n) return;
      const reserved = {
        ...grant,
        reservationId: next.reservationId,
        next: { ...next, reservationId: newReservationId() },
      };
      const waiting = ahead.get(grant.runId);
      if (waiting) waiting.push(reserved);
      else ahead.set(grant.runId, [reserved]);
    },
    async release(grant) {
      await store.write([{ sql: FREE, args: [grant.reservationId] }]);
    },
    leave(runId) {
      ahead.delete(runId);
      return [{ sql: FREE_RUN, args: [runId] }];
    },
    settle() {},
  };
}

/** The decision once more, as a condition of the write: others may have reserved since. */
function reserveStatement(grant: Grant, budget: Budget): Statement {
  const ceiling = budget.limitNanoUsd - (budget.mode === "strict" ? grant.reservedNanoUsd : 1n);
  return { sql: RESERVE, args: [grant.runId, grant.reservationId, grant.reservedNanoUsd, ceiling] };
}
