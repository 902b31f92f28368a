import { runCost } from "../ledger/mod.ts";
import { DATABASE_NOW, type Logic, type Store } from "../store/mod.ts";

/** The lease of a reservation: its process renews it while the call is in progress, see `BudgetGate.renew()`. */
export const RESERVATION_MS = 60_000;

/** The time that a budget is charged for a call whose count never arrived, unless its run ends before. */
export const LOST_MS = 15 * 60_000;

/** SQL for the holder of a reservation, with which its id begins; '' for one that an earlier version made. */
const HOLDER = "substr(reservation_id, 1, instr(reservation_id, '/') - 1)";

/** SQL for the holders of all reservations. */
export const SELECT_RESERVING = `SELECT DISTINCT ${HOLDER} FROM reservations WHERE NOT is_lost`;

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

const OF_RUN = "kind = 'run' AND scope = ? AND start = 0";
const FREE_HELD =
  `DELETE FROM reservations WHERE NOT is_lost AND ${HOLDER} IN (SELECT value FROM json_each(?))`;

/**
 * Frees the reservations of instances that are known to be gone, at once: those of one run, or all. Reservations of other
 * dead instances, such as those of another host, end with their lease.
 */
export async function freeGoneReservations(
  { store, instanceId }: { store: Store; instanceId: string },
  runId?: string,
): Promise<void> {
  if (store.kind !== "file") return; // others have no locks
  const ofRun = { sql: `${SELECT_RESERVING} AND ${OF_RUN}`, args: [runId ?? null] };
  const { rows } = await store.read(runId === undefined ? { sql: SELECT_RESERVING } : ofRun);
  const gone: string[] = [];
  for (const [holder] of rows as [string][]) {
    if (holder !== instanceId && await store.instances.isGone(holder)) gone.push(holder);
  }
  if (gone.length > 0) await store.write([{ sql: FREE_HELD, args: [JSON.stringify(gone)] }]);
}

const OLD = `FROM reservations WHERE expires_at <= ${NOW}`;

/** Removes the reservations of dead processes. Any process may do this at any time. */
export async function sweepReservations(ctx: { store: Store; instanceId: string }): Promise<void> {
  await freeGoneReservations(ctx);
  // Read first: there is rarely anything to remove, and a commit costs a flush.
  const { rows } = await ctx.store.read({ sql: `SELECT 1 ${OLD} LIMIT 1` });
  if (rows.length > 0) await ctx.store.write([{ sql: `DELETE ${OLD}` }]);
}
