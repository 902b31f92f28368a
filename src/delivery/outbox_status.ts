import { indexedBy, leaseNow, leaseTime, type SqlValue, type Store, toObjects } from "../store/mod.ts";
import { IS_HELD_BY_TEST, isDue } from "./claim_delivery.ts";
import type { DeliveryContext } from "./context.ts";
import { hasEnded } from "./recover_deliveries.ts";

// Each time is compared with the clock that wrote it, or instances with skewed clocks would poll without end. A
// dispatcher never attempts a test's delivery, even after its lease.
const READ = `SELECT channel, count(*) AS waiting, count(lease_until) AS leased,
  count(*) FILTER (WHERE ${hasEnded("?2")}) AS ended,
  min(CASE WHEN ${IS_HELD_BY_TEST} OR ${hasEnded("?2")} THEN NULL ELSE
    max(CASE WHEN ${isDue("?1")} THEN 0 ELSE due_at - ?1 END, max(0, coalesce(lease_until - ${
  leaseTime("?2")
}, 0)))
  END) AS wait_ms
FROM deliveries ${indexedBy("deliveries_due")} WHERE status = 'pending' GROUP BY channel`;

/** The pending deliveries of one channel, for the dispatcher. */
export interface Waiting {
  channel: string;
  count: number;
  /** True if a process holds, or has held, one of them. */
  isLeased: boolean;
  /** True if there are deliveries that no process will attempt any more: see `giveUpEnded`. */
  hasEnded: boolean;
  /** The time until the first delivery is due and without a lease; undefined if no dispatcher will attempt one. */
  waitMs?: number;
}

/** Reads the pending deliveries by channel. */
export async function readWaiting(
  ctx: Pick<DeliveryContext, "store" | "clock">,
): Promise<Waiting[]> {
  const result = await ctx.store.read({ sql: READ, args: [ctx.clock.now(), leaseNow(ctx)] });
  return toObjects<
    { channel: string; waiting: SqlValue; leased: SqlValue; ended: SqlValue; wait_ms: SqlValue }
  >(result)
    .map((row) => ({
      channel: row.channel,
      count: Number(row.waiting),
      isLeased: Number(row.leased) > 0,
      hasEnded: Number(row.ended) > 0,
      waitMs: row.wait_ms === null ? undefined : Number(row.wait_ms),
    }));
}

/** A delivery is stuck when it is overdue by this time: a running dispatcher claims it earlier. */
const STUCK_MS = 10 * 60_000;

/** A delivery given up before this time is reported, but no longer a warning. */
const RECENT_MS = 7 * 86_400_000;

// Without tests, whose outcome was reported to their caller.
const GIVEN_UP = `SELECT channel, count, newest, error FROM (
  SELECT d.channel, count(*) OVER (PARTITION BY d.channel) AS count, d.settled_at AS newest, d.last_error AS error,
    row_number() OVER (PARTITION BY d.channel ORDER BY d.settled_at DESC) AS place
  FROM deliveries d LEFT JOIN alerts a ON a.alert_id = d.subject_id
  WHERE d.status = 'failed' AND coalesce(a.is_test, 0) = 0
) given_up WHERE place = 1 ORDER BY newest DESC`;

const WAITING = `SELECT d.channel, count(*) AS count, min(d.due_at) AS oldest,
  count(*) FILTER (WHERE d.due_at <= ?1 - ${STUCK_MS} AND coalesce(d.lease_until, 0) <= ${
  leaseTime("?2")
}) AS stuck,
  count(*) FILTER (WHERE d.lease_until > ${leaseTime("?2")}) AS held
FROM deliveries d LEFT JOIN alerts a ON a.alert_id = d.subject_id
WHERE d.status = 'pending' AND coalesce(a.is_test, 0) = 0 GROUP BY d.channel ORDER BY d.channel`;

/** The failed deliveries of one channel, for the doctor. */
export interface GivenUp {
  channel: string;
  count: number;
  /** The time at which the newest was given up, in epoch milliseconds. */
  newestAt: number;
  /** The reason, for people. */
  newestError: string;
  /** True if that was in the last seven days. */
  isRecent: boolean;
}

/** The pending deliveries of one channel, for the doctor. */
export interface WaitingFor {
  channel: string;
  count: number;
  /** The number of those that were due ten minutes ago or earlier and that no process holds. */
  stuck: number;
  /** The earliest due time. */
  oldestDueAt: number;
  /** True if a process is delivering one of them right now. */
  isBeingDelivered: boolean;
}

/** Reads the state of the outbox, of alerts and anomalies. */
export async function checkDeliveries(
  ctx: { store: Store; clock: { now(): number } },
): Promise<{ givenUp: GivenUp[]; waiting: WaitingFor[] }> {
  const now = ctx.clock.now();
  const [givenUp, waiting] = await ctx.store.readAll([
    { sql: GIVEN_UP },
    { sql: WAITING, args: [now, leaseNow(ctx)] },
  ]);
  return {
    givenUp: toObjects<Record<"count" | "newest", SqlValue> & { channel: string; error: string | null }>(
      givenUp!,
    ).map(({ channel, count, newest, error }) => ({
      channel,
      count: Number(count),
      newestAt: Number(newest),
      newestError: error ?? "no reason is known",
      isRecent: Number(newest) > now - RECENT_MS,
    })),
    waiting: toObjects<Record<"count" | "oldest" | "stuck" | "held", SqlValue> & { channel: string }>(
      waiting!,
    ).map(({ channel, count, oldest, stuck, held }) => ({
      channel,
      count: Number(count),
      stuck: Number(stuck),
      oldestDueAt: Number(oldest),
      isBeingDelivered: Number(held) > 0,
    })),
  };
}
