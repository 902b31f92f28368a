import { quietUntil } from "../config/mod.ts";
import { MAX_ALERT_HISTORY } from "../contract/limits.ts";
import { isAtLeast } from "../contract/values.ts";
import { indexedBy, leaseNow, leaseTime, type ResultSet, type Statement, toObjects } from "../store/mod.ts";
import type { DeliveryContext, DispatchContext } from "./context.ts";
import { decideRetry, MAX_LOST_CLAIMS } from "./retry_policy.ts";
import type { Notification, SendResult } from "./channels/notification.ts";
import type { ConfiguredChannel } from "./channels/configured_channel.ts";
import { messageOf } from "../kernel/errors.ts";
import { traceDelivery } from "../telemetry/mod.ts";

/** The lease of a delivery, after which other processes consider its holder dead; longer than any attempt may take. */
export const DELIVERY_LEASE_MS = 180_000;

/** The maximum clock skew between instances. */
const MAX_SKEW_MS = 60_000;

/**
 * SQL for a delivery that is due at a time. One that was created or attempted after it was written before a clock was
 * set back: it is due as well, or it would wait for as long as the clock was wrong.
 */
export const isDue = (now: string) =>
  `(due_at <= ${now} OR coalesce(attempted_at, created_at) > ${now} + ${MAX_SKEW_MS})`;

/** SQL for a delivery that a test holds: the test itself attempts it, once; a dispatcher never does. */
export const IS_HELD_BY_TEST = "substr(leased_by, 1, 4) = 'test'";

/** Returns the holder of the deliveries of a test that this instance makes. */
export function testHolder({ instanceId }: Pick<DeliveryContext, "instanceId">): string {
  return `test/${instanceId}`;
}

/** Returns the instance of a holder; undefined for a holder that an earlier version wrote, without its instance. */
export function instanceOf(holder: string): string | undefined {
  return /^(?:test\/)?(inst_\w+)(?:\/|$)/.exec(holder)?.[1];
}

// A claim whose process died doesn't count as an attempt, since it may not have been sent. It is counted apart, so that a
// delivery that crashes its process is not repeated forever.
const WAS_CLAIMED = "CASE WHEN leased_by IS NULL THEN 0 ELSE 1 END";
const CLAIM = `UPDATE deliveries SET attempts = attempts + 1 - ${WAS_CLAIMED},
  lost_claims = lost_claims + ${WAS_CLAIMED}, attempted_at = ?2, leased_by = ?4,
  lease_until = ${leaseTime("?3")} + ${DELIVERY_LEASE_MS}
WHERE delivery_id = (
  SELECT delivery_id FROM deliveries ${indexedBy("deliveries_due")}
  WHERE status = 'pending' AND channel = ?1 AND ${isDue("?2")}
    AND (lease_until IS NULL OR (lease_until <= ${
  leaseTime("?3")
} AND NOT ${IS_HELD_BY_TEST})) AND (attempts + lost_claims = 0 OR ?5 = 0)
    AND lost_claims + ${WAS_CLAIMED} < ${MAX_LOST_CLAIMS}
  ORDER BY due_at, delivery_id LIMIT 1
)`;

// The holder is unique to this claim, so the row is found also after the response to the claim was lost.
const READ_CLAIMED = `SELECT delivery_id, subject_id, event, attempts FROM deliveries ${
  indexedBy("deliveries_due")
}
WHERE status = 'pending' AND channel = ?1 AND leased_by = ?2 ORDER BY due_at, delivery_id LIMIT 1`;

const SETTLE = `UPDATE deliveries SET status = ?3, last_error = ?4, due_at = ?5, settled_at = ?6,
  attempts = attempts - ?7, lease_until = NULL, leased_by = NULL
WHERE delivery_id = ?1 AND leased_by = ?2`;

// An alert beyond the history is deleted with the last of its deliveries.
const TRIM = `DELETE FROM alerts
WHERE alert_id = (SELECT subject_id FROM deliveries WHERE delivery_id = ?1)
  AND position <= (SELECT max(position) FROM alerts) - ${MAX_ALERT_HISTORY}
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = alerts.alert_id AND d.status = 'pending')`;

/** A delivery that this process holds. */
export interface ClaimedDelivery {
  deliveryId: string;
  subjectId: string;
  /** The change of an alert that it tells of: `acknowledged` or `resolved`; null of its firing. */
  event: string | null;
  /** The number of this attempt, from 1. */
  attempt: number;
  /** The holder of the lease. */
  holder: string;
}

/** The outcome of a claimed delivery: settled, or due again. */
export type Settlement =
  & Pick<ClaimedDelivery, "deliveryId" | "holder">
  & (
    | { status: "delivered" }
    | { status: "failed"; error: string }
    /** `isPostponed`: no attempt was made, in quiet hours. */
    | { status: "pending"; error: string | null; dueAt: number; isPostponed?: true }
  );

/** One commit to the deliveries of a channel. */
export interface DeliveryStep {
  channel: string;
  settle?: Settlement;
  /** The next delivery to claim: any, none, or only one that was never attempted. */
  claim: "any" | "first_attempts" | "none";
}

/** Settles one delivery and claims the next due one of the same channel, in one commit. */
export async function settleAndClaim(
  ctx: Pick<DeliveryContext, "store" | "clock" | "ids" | "instanceId">,
  { channel, settle, claim }: DeliveryStep,
): Promise<ClaimedDelivery | undefined> {
  const now = ctx.clock.now();
  const holder = `${ctx.instanceId}/${ctx.ids.next("req")}`;
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
  const untried = status === "pending" && settle.isPostponed ? 1 : 0;
  const settledAt = status === "pending" ? null : now;
  return { sql: SETTLE, args: [deliveryId, holder, status, error, dueAt, settledAt, untried] };
}

function readClaimed(result: ResultSet, holder: string): ClaimedDelivery | undefined {
  const row = toObjects<
    { delivery_id: string; subject_id: string; event: string | null; attempts: bigint }
  >(result)[0];
  return row && {
    deliveryId: row.delivery_id,
    subjectId: row.subject_id,
    event: row.event,
    attempt: Number(row.attempts),
    holder,
  };
}

/** The time that a running attempt has to finish after the grace period: aborted, it might be sent twice. */
export const FINISH_MS = 3_000;

/**
 * Makes one attempt at a claimed delivery, or none in the quiet hours of its channel, and returns its settlement. `cut` aborts the
 * attempt.
 */
export async function deliverClaimed(
  ctx: DispatchContext,
  channel: ConfiguredChannel,
  claimed: ClaimedDelivery,
  cut: AbortSignal,
): Promise<Settlement> {
  const { deliveryId, subjectId, holder, attempt } = claimed;
  const found = await readNotification(ctx, claimed);
  const quietEnd = "ok" in found ? undefined : endOfQuiet(ctx, channel, found);
  if (quietEnd !== undefined) {
    const error = "waits for the end of quiet hours";
    return { deliveryId, holder, status: "pending", error, dueAt: quietEnd, isPostponed: true };
  }
  const traced = { channel: channel.name, kind: channel.kind, deliveryId, subjectId, attempt };
  const result = await traceDelivery(
    ctx.telemetry,
    traced,
    async () => "ok" in found ? found : await channel.attempt(found, { deliveryId, attempt, signal: cut }),
  );
  if (result.ok) return { deliveryId, holder, status: "delivered" };
  const { reason: error } = result;
  if (cut.aborted && attempt === 1) {
    // The next process retries a first attempt that was aborted at once; a later one waits as after a failure.
    return { deliveryId, holder, status: "pending", error, dueAt: ctx.clock.now() };
  }
  const decision = decideRetry({ attempt, ...result }, (ctx.random ?? Math.random)());
  const facts = { channel: channel.name, about: subjectId, delivery: deliveryId, attempt, reason: error };
  if (decision.retry) {
    ctx.log.info("A notification was not delivered and will be retried", {
      ...facts,
      wait_ms: decision.waitMs,
    });
    return { deliveryId, holder, status: "pending", error, dueAt: ctx.clock.now() + decision.waitMs };
  }
  ctx.log.warn("A notification was given up", { ...facts, because: decision.reason });
  return { deliveryId, holder, status: "failed", error };
}

/** Reads what is to be sent, or the failure of reading it. */
async function readNotification(
  ctx: DispatchContext,
  { subjectId, event }: ClaimedDelivery,
): Promise<Notification | Extract<SendResult, { ok: false }>> {
  try {
    return await ctx.readNotification(subjectId, event) ??
      { ok: false, retry: false, reason: "its alert or anomaly no longer exists" };
  } catch (error) {
    return { ok: false, retry: true, reason: `the database could not be read: ${messageOf(error)}` };
  }
}

/** Returns when the quiet hours of a channel end; undefined outside of them, and for a severity that is exempt. */
function endOfQuiet(
  { clock, timeZone }: DispatchContext,
  { quietHours }: ConfiguredChannel,
  { severity }: Notification,
): number | undefined {
  if (!quietHours || quietHours.except && isAtLeast(severity, quietHours.except)) return undefined;
  return quietUntil(quietHours, clock.now(), timeZone);
}
