import { leaseNow, leaseTime, type SqlValue, type Store, toObjects } from "../store/mod.ts";

/** After so long a wait past its time, a delivery is stuck: a lane that is at work gets to it earlier. */
const STUCK_MS = 10 * 60_000;

/** What was given up longer ago is told, but no longer a warning. */
const RECENT_MS = 7 * 86_400_000;

// Tests are left out: whoever made one has seen what came of it. Of a group, the last columns are the newest row's.
const GIVEN_UP = `SELECT d.channel, count(*) AS count, max(d.settled_at) AS newest, d.last_error AS error
FROM deliveries d LEFT JOIN alerts a ON a.alert_id = d.subject_id
WHERE d.status = 'failed' AND coalesce(a.is_test, 0) = 0 GROUP BY d.channel ORDER BY newest DESC`;

const WAITING = `SELECT d.channel, count(*) AS count, min(d.due_at) AS oldest,
  sum(d.due_at <= ?1 - ${STUCK_MS} AND coalesce(d.lease_until, 0) <= ${leaseTime("?2")}) AS stuck,
  max(coalesce(d.lease_until, 0) > ${leaseTime("?2")}) AS is_held
FROM deliveries d LEFT JOIN alerts a ON a.alert_id = d.subject_id
WHERE d.status = 'pending' AND coalesce(a.is_test, 0) = 0 GROUP BY d.channel ORDER BY d.channel`;

/** Notifications of one channel that nobody will attempt any more. */
export interface GivenUp {
  channel: string;
  count: number;
  /** When the newest was given up, in epoch milliseconds. */
  newestAt: number;
  /** Why, for people. */
  newestError: string;
  /** Whether that was in the last seven days. */
  isRecent: boolean;
}

/** Notifications that wait for one channel. */
export interface WaitingFor {
  channel: string;
  count: number;
  /** How many of them nobody holds though they were due ten minutes ago or earlier. */
  stuck: number;
  /** When the first of them was, or will be, due. */
  oldestDueAt: number;
  /** Whether some process is at one of them right now. */
  isBeingDelivered: boolean;
}

/** How it stands with the outbox, of alerts and anomalies. */
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
    waiting: toObjects<Record<"count" | "oldest" | "stuck" | "is_held", SqlValue> & { channel: string }>(
      waiting!,
    ).map(({ channel, count, oldest, stuck, is_held }) => ({
      channel,
      count: Number(count),
      stuck: Number(stuck),
      oldestDueAt: Number(oldest),
      isBeingDelivered: Number(is_held) !== 0,
    })),
  };
}
