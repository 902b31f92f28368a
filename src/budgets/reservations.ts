import { runCost } from "../ledger/mod.ts";
import { DATABASE_NOW, type Logic, type Store } from "../store/mod.ts";

/** The expiry of a reservation that was never freed, because its process died outside of a run. */
export const RESERVATION_MS = 15 * 60_000;

export const NOW = DATABASE_NOW;

/** SQL for the reservations of a run's budget by calls in flight; `is_lost` marks those whose count never arrived. */
export const reservedOf = (runId: string, more = "") =>
  `(SELECT coalesce(sum(amount_nano_usd), 0) FROM reservations
    WHERE kind = 'run' AND scope = ${runId} AND start = 0 AND expires_at > ${NOW}${more})`;

/**
 * A request to reserve becomes a row if the settled and reserved cost is at most the ceiling. A trigger evaluates each request
 * after those before it in the same statement, so that two requests that fit separately can't overshoot together.
 */
export const reservationLogic: readonly Logic[] = [
  {
    name: "reservation_requests",
    sql: `CREATE VIEW reservation_requests AS
SELECT reservation_id, scope AS run_id, amount_nano_usd, 0 AS ceiling_nano_usd FROM reservations WHERE 0`,
  },
  {
    name: "reserve_call",
    sql: `CREATE TRIGGER reserve_call INSTEAD OF INSERT ON reservation_requests
BEGIN
  INSERT INTO reservations (kind, scope, start, reservation_id, amount_nano_usd, expires_at)
  SELECT 'run', NEW.run_id, 0, NEW.reservation_id, NEW.amount_nano_usd, ${NOW} + ${RESERVATION_MS}
  WHERE ${runCost("NEW.run_id")} + ${reservedOf("NEW.run_id")} <= NEW.ceiling_nano_usd;
END`,
  },
];

const OLD = `FROM reservations WHERE expires_at <= ${NOW}`;

/** Removes expired reservations, left by calls outside of a run whose process was killed. Any process may do this at any time. */
export async function sweepReservations({ store }: { store: Store }): Promise<void> {
  // Read first: there is rarely anything to remove, and a commit costs a flush.
  const { rows } = await store.read({ sql: `SELECT 1 ${OLD} LIMIT 1` });
  if (rows.length > 0) await store.write([{ sql: `DELETE ${OLD}` }]);
}
