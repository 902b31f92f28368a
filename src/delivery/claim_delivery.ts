import { MAX_ALERT_HISTORY } from "../contract/limits.ts";
import { leaseNow, leaseTime, type ResultSet, type Statement, toObjects } from "../store/mod.ts";
import type { DeliveryContext } from "./context.ts";
import { IS_HELD_BY_TEST, newHolder } from "./lease_holder.ts";
import { MAX_ATTEMPTS } from "./retry_policy.ts";

/** How long a process may be at one delivery before any other takes it for dead; longer than any attempt may take. */
export const DELIVERY_LEASE_MS = 180_000;

/** How far apart the clocks of instances may be. */
const MAX_SKEW_MS = 60_000;

/**
 * SQL for whether a delivery is due at a time. One that was put out or attempted after it tells of a clock that was set
 * back since: it is due as well, or a wait could last for as long as the clock was wrong.
 */
export const isDue = (now: string) =>
  `(due_at <= ${now} OR coalesce(attempted_at, created_at) > ${now} + ${MAX_SKEW_MS})`;

// An attempt counts from the claim on: one that ends the process is not made for ever.
const CLAIM = `UPDATE deliveries SET attempts = attempts + 1, attempted_at = ?2, leased_by = ?4,
  lease_until = ${leaseTime("?3")} + ${DELIVERY_LEASE_MS}
WHERE delivery_id = (
  SELECT delivery_id FROM deliveries INDEXED BY deliveries_due
  WHERE status = 'pending' AND channel = ?1 AND ${isDue("?2")}
    AND (lease_until IS NULL OR (lease_until <= ${
  leaseTime("?3")
} AND NOT ${IS_HELD_BY_TEST})) AND (attempts = 0 OR NOT ?5)
    AND attempts < ${MAX_ATTEMPTS}
  ORDER BY due_at, delivery_id LIMIT 1
)`;

// By the holder, which this claim alone has: it says what was claimed also after an answer was lost.
const READ_CLAIMED = `SELECT delivery_id, subject_id, attempts FROM deliveries INDEXED BY deliveries_due
WHERE status = 'pending' AND channel = ?1 AND leased_by = ?2 ORDER BY due_at, delivery_id LIMIT 1`;

const SETTLE = `UPDATE deliveries SET status = ?3, last_error = ?4, due_at = ?5, settled_at = ?6,
  lease_until = NULL, leased_by = NULL
WHERE delivery_id = ?1 AND leased_by = ?2`;

// An alert that is too old for the history goes with the last of its deliveries.
const TRIM = `DELETE FROM alerts
WHERE alert_id = (SELECT subject_id FROM deliveries WHERE delivery_id = ?1)
  AND position <= (SELECT max(position) FROM alerts) - ${MAX_ALERT_HISTORY}
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = alerts.alert_id AND d.status = 'pending')`;

/** A delivery that this process holds. */
export interface ClaimedDelivery {
  deliveryId: string;
  subjectId: string;
  /** Which attempt is to be made now, from 1. */
  attempt: number;
  /** Who holds the lease. */
  holder: string;
}

/** What became of a claimed delivery: it is over, or due again. */
export type Settlement =
  & Pick<ClaimedDelivery, "deliveryId" | "holder">
  & (
    | { status: "delivered" }
    | { status: "failed"; error: string }
    | { status: "pending"; error: string | null; dueAt: number }
  );

/** What to do in one commit of a channel's deliveries. */
export interface DeliveryStep {
  channel: string;
  settle?: Settlement;
  /** Whether to claim the next one: any, none, or only one that nobody has attempted yet. */
  claim: "any" | "first_attempts" | "none";
}

/**
 * Settles one delivery and claims the next of the same channel, in one commit.
 */
export async function stepDeliveries(
  ctx: Pick<DeliveryContext, "store" | "clock" | "ids" | "instanceId">,
  { channel, settle, claim }: DeliveryStep,
): Promise<ClaimedDelivery | undefined> {
  const now = ctx.clock.now();
  const holder = newHolder(ctx);
  const statements: Statement[] = [];
  if (settle) statements.push(settleStatement(settle, now));
  if (settle && settle.status !== "pending") statements.push({ sql: TRIM, args: [settle.deliveryId] });
  if (claim !== "none") {
    await ctx.store.instances.hold(ctx.instanceId);
    statements.push({ sql: CLAIM, args: [channel, now, leaseNow(ctx), holder, claim === "any" ? 0 : 1] });
    statements.push({ sql: READ_CLAIMED, args: [channel, holder] });
  }
  if (statements.length === 0) return undefined;
  const results = await ctx.store.write(statements);
  return claim === "none" ? undefined : readClaimed(results.at(-1)!, holder);
}

function settleStatement(settle: Settlement, now: number): Statement {
  const { deliveryId, holder, status } = settle;
  const error = status === "delivered" ? null : settle.error;
  const dueAt = status === "pending" ? settle.dueAt : now;
  return { sql: SETTLE, args: [deliveryId, holder, status, error, dueAt, status === "pending" ? null : now] };
}

function readClaimed(result: ResultSet, holder: string): ClaimedDelivery | undefined {
  const row = toObjects<{ delivery_id: string; subject_id: string; attempts: bigint }>(result)[0];
  return row &&
    { deliveryId: row.delivery_id, subjectId: row.subject_id, attempt: Number(row.attempts), holder };
}
