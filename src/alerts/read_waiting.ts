import { isDue, LEASE_NOW, TESTER } from "./claim_delivery.ts";
import { type SqlValue, toObjects } from "../store/mod.ts";
import type { AlertContext } from "./context.ts";

// Each time is compared with the clock it was told by: instances whose clocks differ would look again and again. What
// a test holds is never a dispatcher's, whenever its lease has run out.
const READ = `SELECT channel, count(*) AS waiting, max(lease_until IS NOT NULL) AS is_leased,
  min(CASE WHEN leased_by IS '${TESTER}' THEN NULL ELSE
    max(0, CASE WHEN ${isDue("?1")} THEN 0 ELSE due_at - ?1 END, coalesce(lease_until - ${
  LEASE_NOW("?2")
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
  /** How long until the first of them is due, or free again; undefined where none is a dispatcher's. */
  waitMs?: number;
}

/** Reads what waits to be delivered, by channel. */
export async function readWaiting(
  { store, clock }: Pick<AlertContext, "store" | "clock">,
): Promise<Waiting[]> {
  const now = clock.now();
  const result = await store.read({ sql: READ, args: [now, store.kind === "remote" ? null : now] });
  return toObjects<{ channel: string; waiting: SqlValue; is_leased: SqlValue; wait_ms: SqlValue }>(result)
    .map((row) => ({
      channel: row.channel,
      count: Number(row.waiting),
      isLeased: Number(row.is_leased) !== 0,
      waitMs: row.wait_ms === null ? undefined : Number(row.wait_ms),
    }));
}

/** Nobody waits for the result of a test whose process has ended. */
const END_TESTS = `UPDATE deliveries SET status = 'failed', last_error = 'the test ended with its process',
  settled_at = ?1, lease_until = NULL, leased_by = NULL
WHERE status = 'pending' AND leased_by = '${TESTER}'
  AND (?2 OR lease_until <= CAST(unixepoch('subsec') * 1000 AS INTEGER))`;

const FREE = `UPDATE deliveries SET lease_until = NULL, leased_by = NULL
WHERE status = 'pending' AND lease_until IS NOT NULL`;

/**
 * Frees what processes held that have ended. Only the owner of a file knows that there is no other; on a shared
 * database deliveries are free again once their lease has run out, and just tests are ended.
 */
export async function freeLeases(ctx: Pick<AlertContext, "store" | "clock">): Promise<void> {
  const isOwner = ctx.store.kind !== "remote";
  const endTests = { sql: END_TESTS, args: [ctx.clock.now(), isOwner ? 1 : 0] };
  await ctx.store.write(isOwner ? [endTests, { sql: FREE }] : [endTests]);
}
