import { runCost } from "../ledger/mod.ts";
import { DATABASE_NOW, type Logic, type Store } from "../store/mod.ts";

/** A reservation that was never given back, because its process ended outside a run, counts no longer than this. */
export const RESERVATION_MS = 15 * 60_000;

export const NOW = DATABASE_NOW;

/** SQL for what calls in flight have reserved of a run's budget; of those, `is_lost` says whose count never came. */
export const reservedOf = (runId: string, more = "") =>
  `(SELECT coalesce(sum(amount_nano_usd), 0) FROM reservations
    WHERE kind = 'run' AND scope = ${runId} AND start = 0 AND expires_at > ${NOW}${more})`;

/**
 * A request to reserve: it becomes a row where what is settled and reserved is at most the ceiling. A trigger looks at
 * each request with those before it in the same statement, so that two that fit singly can't overshoot together.
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

/**
 * Removes reservations that count no longer: of calls outside a run that Purser keeps, whose process was killed while
 * they were made. Any process may, at any time.
 */
export async function sweepReservations({ store }: { store: Store }): Promise<void> {
  // Looked for first: there is mostly nothing to remove, and a commit costs a flush.
  const { rows } = await store.read({ sql: `SELECT 1 ${OLD} LIMIT 1` });
  if (rows.length > 0) await store.write([{ sql: `DELETE ${OLD}` }]);
}
