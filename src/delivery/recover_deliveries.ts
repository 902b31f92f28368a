import { leaseNow } from "../store/mod.ts";
import type { DeliveryContext } from "./context.ts";
import { instanceOf, IS_HELD_BY_TEST } from "./lease_holder.ts";
import { hasEnded } from "./read_waiting.ts";
import { RETRY_WAITS_MS } from "./retry_policy.ts";

const END = `UPDATE deliveries SET status = 'failed', settled_at = ?1, lease_until = NULL, leased_by = NULL,
  last_error = CASE WHEN ${IS_HELD_BY_TEST} THEN 'the test ended with its process'
    ELSE 'its process ended in each of the last attempts' END
WHERE status = 'pending' AND ${hasEnded("?2")}`;

/** Gives up what no process will attempt any more. */
export async function giveUpEnded(ctx: Pick<DeliveryContext, "store" | "clock">): Promise<void> {
  await ctx.store.write([{ sql: END, args: [ctx.clock.now(), leaseNow(ctx)] }]);
}

const HOLDERS = `SELECT DISTINCT leased_by FROM deliveries INDEXED BY deliveries_due
WHERE status = 'pending' AND leased_by IS NOT NULL`;

const IS_THEIRS = "leased_by IN (SELECT value FROM json_each(?1))";
const EXPIRE = `UPDATE deliveries SET lease_until = 0 WHERE status = 'pending' AND ${IS_THEIRS}`;

// The first time at once. What ended with its process again may be what ends it: then each waits, and one after the
// other, so that the rest gets its turn.
const FREE =
  `UPDATE deliveries SET lease_until = NULL, leased_by = NULL, due_at = max(deliveries.due_at, f.due_at)
FROM (
  SELECT delivery_id, CASE WHEN attempts < 2 THEN 0 ELSE
    ?2 + 2000 * row_number() OVER (ORDER BY delivery_id) + CASE attempts ${
    RETRY_WAITS_MS.map((waitMs, index) => `WHEN ${index + 1} THEN ${waitMs}`).join(" ")
  } ELSE 0 END END AS due_at
  FROM deliveries WHERE status = 'pending' AND ${IS_THEIRS}
) f WHERE deliveries.delivery_id = f.delivery_id`;

/** Frees at once what instances held that are known to be gone: where a process is alone, all others are. Returns whether there was any. */
export async function freeGoneLeases(
  ctx: Pick<DeliveryContext, "store" | "clock" | "instanceId">,
): Promise<boolean> {
  const { store } = ctx;
  const { rows } = await store.read({ sql: HOLDERS });
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
