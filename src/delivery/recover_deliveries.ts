import { MAX_ALERT_HISTORY } from "../contract/limits.ts";
import { DAY_MS } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { indexedBy, leaseNow, leaseTime, type SqlValue, type Statement, toObjects } from "../store/mod.ts";
import { instanceOf, IS_HELD_BY_TEST } from "./claim_delivery.ts";
import type { DeliveryContext } from "./context.ts";
import { MAX_LOST_CLAIMS, RETRY_WAITS_MS } from "./retry_policy.ts";

/**
 * SQL for a pending delivery that no process will attempt any more: a test's, or one whose processes have died too often.
 */
export const hasEnded = (now: string) =>
  `(leased_by IS NOT NULL AND (${IS_HELD_BY_TEST} OR lost_claims + 1 >= ${MAX_LOST_CLAIMS})
    AND lease_until <= ${leaseTime(now)})`;

const END = `UPDATE deliveries SET status = 'failed', settled_at = ?1, lease_until = NULL, leased_by = NULL,
  last_error = CASE WHEN ${IS_HELD_BY_TEST} THEN 'its process ended before the outcome was known'
    ELSE 'its process ended ${MAX_LOST_CLAIMS} times before the outcome was known' END
WHERE status = 'pending' AND ${hasEnded("?2")}`;

/** Gives up the deliveries that no process will attempt any more. */
export async function giveUpEnded(ctx: Pick<DeliveryContext, "store" | "clock">): Promise<void> {
  await ctx.store.write([{ sql: END, args: [ctx.clock.now(), leaseNow(ctx)] }]);
}

/** Reads the holders of leases on pending deliveries. */
export const SELECT_HOLDERS: Statement = {
  sql: `SELECT DISTINCT leased_by FROM deliveries ${indexedBy("deliveries_due")}
WHERE status = 'pending' AND leased_by IS NOT NULL`,
};

const IS_THEIRS = "leased_by IN (SELECT value FROM json_each(?1))";
const EXPIRE = `UPDATE deliveries SET lease_until = 0 WHERE status = 'pending' AND ${IS_THEIRS}`;

// A claim that was lost is given back its attempt. After a first crash it is due at once. A delivery whose process has died
// again may be the cause: then it waits as after a failure, and each 2 s after the one before, so that the others get their
// turn.
const FREE =
  `UPDATE deliveries SET lease_until = NULL, leased_by = NULL, due_at = max(deliveries.due_at, f.due_at),
  attempts = attempts - 1, lost_claims = lost_claims + 1
FROM (
  SELECT delivery_id, CASE WHEN lost_claims = 0 THEN 0 ELSE
    ?2 + 2000 * row_number() OVER (ORDER BY delivery_id) + CASE lost_claims + 1 ${
    RETRY_WAITS_MS.map((waitMs, index) => `WHEN ${index + 1} THEN ${waitMs}`).join(" ")
  } ELSE 0 END END AS due_at
  FROM deliveries WHERE status = 'pending' AND ${IS_THEIRS}
) f WHERE deliveries.delivery_id = f.delivery_id`;

/**
 * Frees the leases of instances that are known to be gone, at once: on a database that is not shared, all others are.
 * Returns true if there were any.
 */
export async function freeGoneLeases(
  ctx: Pick<DeliveryContext, "store" | "clock" | "instanceId">,
): Promise<boolean> {
  const { store } = ctx;
  const { rows } = await store.read(SELECT_HOLDERS);
  const gone: string[] = [];
  for (const [holder] of rows as [string][]) {
    const instance = instanceOf(holder);
    if (instance === undefined || instance === ctx.instanceId) continue;
    if (!store.isShared || await store.instances.isGone(instance)) gone.push(holder);
  }
  if (gone.length === 0) return false;
  const holders = JSON.stringify(gone);
  const now = ctx.clock.now();
  await store.write([
    { sql: EXPIRE, args: [holders] },
    { sql: END, args: [now, leaseNow(ctx)] },
    { sql: FREE, args: [holders, now] },
  ]);
  return true;
}

/** The time that a delivery waits for a missing channel, longer than all attempts together take. */
const ORPHAN_MS = 7 * DAY_MS;

const SINCE = "max(max(created_at, coalesce(attempted_at, 0)), due_at)";

/** SQL for a delivery whose channel isn't one of ?1 and that no process has attempted for as long. */
const IS_ORPHAN = `status = 'pending' AND channel NOT IN (SELECT value FROM json_each(?1))
  AND ${SINCE} <= ${leaseTime("?2")} - ${ORPHAN_MS} AND coalesce(lease_until, 0) <= ${leaseTime("?2")}`;

const COUNT = `SELECT channel, count(*) AS count FROM deliveries ${indexedBy("deliveries_due")}
WHERE ${IS_ORPHAN} GROUP BY channel ORDER BY channel`;

const GIVE_UP =
  `UPDATE deliveries SET status = 'failed', settled_at = ?3, lease_until = NULL, leased_by = NULL,
  last_error = 'no instance has had a channel of this name for 7 days'
WHERE ${IS_ORPHAN}`;

// Alerts beyond the history are deleted with the last of their deliveries.
const TRIM = `DELETE FROM alerts WHERE position <= (SELECT max(position) FROM alerts) - ${MAX_ALERT_HISTORY}
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = alerts.alert_id AND d.status = 'pending')`;

/**
 * Gives up deliveries that have waited for seven days for channels that this process doesn't have. An instance that has
 * the channel would have delivered or given them up within a day.
 */
export async function giveUpOrphans(
  ctx: Pick<DeliveryContext, "store" | "clock" | "outboxChannels"> & { log: Log },
): Promise<void> {
  const { store, clock } = ctx;
  const channels = JSON.stringify(ctx.outboxChannels.map(({ name }) => name));
  const args: SqlValue[] = [channels, leaseNow(ctx)];
  const orphans = toObjects<{ channel: string; count: bigint }>(await store.read({ sql: COUNT, args }));
  if (orphans.length === 0) return;
  await store.write([{ sql: GIVE_UP, args: [...args, clock.now()] }, { sql: TRIM }]);
  ctx.log.warn("Notifications were given up: no instance has had their channels for 7 days", {
    channels: orphans.map(({ channel, count }) => `${channel} (${count})`),
  });
}
