import { MAX_ALERT_HISTORY } from "../contract/limits.ts";
import { DAY_MS } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { leaseNow, leaseTime, type SqlValue, type Statement, toObjects } from "../store/mod.ts";
import type { DeliveryContext } from "./context.ts";

/** How long a delivery waits for a channel that is not there, beyond all attempts that one would have had. */
export const ORPHAN_MS = 7 * DAY_MS;

const SINCE = "max(created_at, coalesce(attempted_at, 0), due_at)";

/** Deliveries that wait for none of the channels ?1 and that nobody has cared for since long. */
const IS_ORPHAN = `status = 'pending' AND channel NOT IN (SELECT value FROM json_each(?1))
  AND ${SINCE} <= ${leaseTime("?2")} - ${ORPHAN_MS} AND coalesce(lease_until, 0) <= ${leaseTime("?2")}`;

const COUNT = `SELECT channel, count(*) AS count FROM deliveries INDEXED BY deliveries_due
WHERE ${IS_ORPHAN} GROUP BY channel ORDER BY channel`;

const GIVE_UP =
  `UPDATE deliveries SET status = 'failed', settled_at = ?3, lease_until = NULL, leased_by = NULL,
  last_error = 'no instance has had a channel of this name for 7 days'
WHERE ${IS_ORPHAN}`;

// Alerts that are too old for the history go with the last of their deliveries.
const TRIM = `DELETE FROM alerts WHERE position <= (SELECT max(position) FROM alerts) - ${MAX_ALERT_HISTORY}
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = alerts.alert_id AND d.status = 'pending')`;

/**
 * Gives up what has waited for seven days for channels that this process doesn't have. One that another instance has
 * would have been delivered, or given up, within a day.
 */
export async function giveUpOrphans(
  ctx: Pick<DeliveryContext, "store" | "clock" | "outboxChannels"> & { log: Log },
): Promise<void> {
  const { store, clock } = ctx;
  const now = clock.now();
  const channels = JSON.stringify(ctx.outboxChannels.map(({ name }) => name));
  const args: SqlValue[] = [channels, leaseNow(ctx)];
  const orphans = toObjects<{ channel: string; count: bigint }>(await store.read({ sql: COUNT, args }));
  if (orphans.length === 0) return;
  const statements: Statement[] = [{ sql: GIVE_UP, args: [...args, now] }, { sql: TRIM }];
  await store.write(statements);
  ctx.log.warn("Notifications were given up whose channels nobody has had for 7 days", {
    channels: orphans.map(({ channel, count }) => `${channel} (${count})`),
  });
}
