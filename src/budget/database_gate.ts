import type { Clock } from "../clock.ts";
import type { Store } from "../store/mod.ts";
import {
  type Admission,
  type BudgetGate,
  type CallRequest,
  firstInteger,
  type Grant,
} from "./budget_gate.ts";
import { decideCall } from "./decide_call.ts";

/** A reservation that nobody gave back, because its instance died outside a run, counts no longer than this. */
export const RESERVATION_MS = 15 * 60_000;

const POLL_MS = 50;
const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const SETTLED = "SELECT coalesce((SELECT cost_nano_usd FROM spend_runs WHERE run_id = ?1), 0)";
const RESERVED =
  `SELECT coalesce(sum(amount_nano_usd), 0) FROM reservations WHERE run_id = ?1 AND expires_at > ${NOW}`;
const RESERVE = `INSERT INTO reservations (reservation_id, run_id, amount_nano_usd, expires_at)
SELECT ?2, ?1, ?3, ${NOW} + ${RESERVATION_MS}
WHERE (${SETTLED}) + (${RESERVED}) <= ?4`;
const IS_RESERVED = "SELECT count(*) FROM reservations WHERE reservation_id = ?";
const FREE = "DELETE FROM reservations WHERE reservation_id = ?";

/**
 * Reservations in the database, for instances that share one. The decision is made on what was read; the
 * write holds only where it is still right, else it is made again on what the write saw.
 */
export function createDatabaseGate(options: {
  store: Store;
  clock: Clock;
  newReservationId: () => string;
}): BudgetGate {
  const { store, clock } = options;
  return {
    async admit({ runId, budget, call, signal }: CallRequest): Promise<Admission> {
      let state = await store.readAll([{ sql: SETTLED, args: [runId] }, { sql: RESERVED, args: [runId] }]);
      for (;;) {
        signal?.throwIfAborted();
        const settledNanoUsd = firstInteger(state[0]);
        const reservedNanoUsd = firstInteger(state[1]);
        const decision = decideCall({ budget, settledNanoUsd, reservedNanoUsd, call });
        if (!decision.go && !decision.wait) return { go: false, reason: decision.reason, settledNanoUsd };
        if (!decision.go) {
          await clock.sleep(POLL_MS, signal);
          signal?.throwIfAborted();
          state = await store.readAll([{ sql: SETTLED, args: [runId] }, { sql: RESERVED, args: [runId] }]);
          continue;
        }
        const reservationId = options.newReservationId();
        const amount = decision.reserveNanoUsd;
        // The decision once more, as a condition of the write: others may have reserved since the read.
        const ceiling = budget.limitNanoUsd - (budget.mode === "strict" ? amount : 1n);
        const results = await store.write([
          { sql: RESERVE, args: [runId, reservationId, amount, ceiling] },
          { sql: SETTLED, args: [runId] },
          { sql: RESERVED, args: [runId] },
          { sql: IS_RESERVED, args: [reservationId] },
        ]);
        if (firstInteger(results[3]) === 1n) {
          return {
            go: true,
            grant: { reservationId, runId, reservedNanoUsd: amount, outputLimit: decision.outputLimit },
          };
        }
        state = results.slice(1, 3);
      }
    },
    bookingStatements: (grant: Grant) => [{ sql: FREE, args: [grant.reservationId] }],
    async release(grant: Grant, isBooked: boolean): Promise<void> {
      if (!isBooked) await store.write([{ sql: FREE, args: [grant.reservationId] }]);
    },
    settle() {},
  };
}
