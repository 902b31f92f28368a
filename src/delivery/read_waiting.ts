import { isDue } from "./claim_delivery.ts";
import { IS_HELD_BY_TEST } from "./lease_holder.ts";
import { leaseNow, leaseTime, type SqlValue, toObjects } from "../store/mod.ts";
import type { DeliveryContext } from "./context.ts";
import { MAX_ATTEMPTS } from "./retry_policy.ts";

/**
 * SQL for whether nobody will attempt a delivery any more although it is pending: a test's, or one that was attempted as
 * often as it may be, whose process did not live to tell.
 */
export const hasEnded = (now: string) =>
  `(leased_by IS NOT NULL AND (${IS_HELD_BY_TEST} OR attempts >= ${MAX_ATTEMPTS})
    AND lease_until <= ${leaseTime(now)})`;

// Each time is compared with the clock it was told by: instances whose clocks differ would look again and again. What
// a test holds is never a dispatcher's, whenever its lease has run out.
const READ = `SELECT channel, count(*) AS waiting, max(lease_until IS NOT NULL) AS is_leased,
  max(${hasEnded("?2")}) AS has_ended,
  min(CASE WHEN coalesce(${IS_HELD_BY_TEST}, 0) OR ${hasEnded("?2")} THEN NULL ELSE
    max(0, CASE WHEN ${isDue("?1")} THEN 0 ELSE due_at - ?1 END, coalesce(lease_until - ${
  leaseTime("?2")
}, 0))
  END) AS wait_ms
FROM deliveries INDEXED BY deliveries_due WHERE status = 'pending' GROUP BY channel`;

/** What waits for one channel. */
export interface Waiting {
  channel: string;
  /** How many deliveries are to be made. */
  count: number;
  /** Whether some process holds, or has held, one of them. */
  isLeased: boolean;
  /** Whether there are some that nobody will attempt any more: see `giveUpEnded`. */
  hasEnded: boolean;
  /** How long until the first of them is due, or free again; undefined where none is a dispatcher's. */
  waitMs?: number;
}

/** Reads what waits to be delivered, by channel. */
export async function readWaiting(
  ctx: Pick<DeliveryContext, "store" | "clock">,
): Promise<Waiting[]> {
  const result = await ctx.store.read({ sql: READ, args: [ctx.clock.now(), leaseNow(ctx)] });
  return toObjects<
    { channel: string; waiting: SqlValue; is_leased: SqlValue; has_ended: SqlValue; wait_ms: SqlValue }
  >(result)
    .map((row) => ({
      channel: row.channel,
      count: Number(row.waiting),
      isLeased: Number(row.is_leased) !== 0,
      hasEnded: Number(row.has_ended) !== 0,
      waitMs: row.wait_ms === null ? undefined : Number(row.wait_ms),
    }));
}
