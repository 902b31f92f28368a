import { TESTER } from "./claim_delivery.ts";
import type { AlertContext } from "./context.ts";
import { hasEnded } from "./read_waiting.ts";
import { RETRY_WAITS_MS } from "./retry_policy.ts";

const END = `UPDATE deliveries SET status = 'failed', settled_at = ?1, lease_until = NULL, leased_by = NULL,
  last_error = CASE leased_by WHEN '${TESTER}' THEN 'the test ended with its process'
    ELSE 'its process ended in each of the last attempts' END
WHERE status = 'pending' AND ${hasEnded("?2")}`;

/** Gives up what nobody will attempt any more. */
export async function giveUpEnded({ store, clock }: Pick<AlertContext, "store" | "clock">): Promise<void> {
  const now = clock.now();
  await store.write([{ sql: END, args: [now, store.kind === "remote" ? null : now] }]);
}

// The first time at once. What ended with its process again may be what ends it: then each waits, and one after the
// other, so that the rest gets its turn.
const FREE =
  `UPDATE deliveries SET lease_until = NULL, leased_by = NULL, due_at = max(deliveries.due_at, f.due_at)
FROM (
  SELECT delivery_id, CASE WHEN attempts < 2 THEN 0 ELSE
    ?1 + 2000 * row_number() OVER (ORDER BY delivery_id) + CASE attempts ${
    RETRY_WAITS_MS.map((waitMs, index) => `WHEN ${index + 1} THEN ${waitMs}`).join(" ")
  } ELSE 0 END END AS due_at
  FROM deliveries WHERE status = 'pending' AND lease_until IS NOT NULL
) f WHERE deliveries.delivery_id = f.delivery_id`;

const EXPIRE = "UPDATE deliveries SET lease_until = 0 WHERE status = 'pending' AND lease_until IS NOT NULL";

/** Frees what processes held that have ended. For the start of a file's owner, who knows that there is no other. */
export async function freeLeases({ store, clock }: Pick<AlertContext, "store" | "clock">): Promise<void> {
  const now = clock.now();
  await store.write([{ sql: EXPIRE }, { sql: END, args: [now, now] }, { sql: FREE, args: [now] }]);
}
