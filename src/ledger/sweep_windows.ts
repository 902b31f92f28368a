import { type Clock, DAY_MS } from "../kernel/clock.ts";
import type { Store } from "../store/mod.ts";
import { ALL_AGENTS } from "./spend_counters.ts";

/** How long the spend of a minute is kept. The longest window that is added up from minutes is an hour. */
const KEEP_MS = DAY_MS;

/** So many go in one commit, which must not hold a database for long. */
const ROWS_PER_COMMIT = 5_000;

// Scope by scope, each found by one look into the key, so that what is kept costs nothing. A clock that is ahead must
// not take what is still wanted: nothing goes that is not old beside the newest minute too.
const OLD = `WITH RECURSIVE scopes(scope) AS (
  SELECT min(scope) FROM spend_counters WHERE kind = 'minute'
  UNION ALL
  SELECT (SELECT min(w.scope) FROM spend_counters w WHERE w.kind = 'minute' AND w.scope > s.scope)
  FROM scopes s WHERE s.scope IS NOT NULL
), kept(since) AS MATERIALIZED (
  SELECT min(?1, max(start)) - ${KEEP_MS} FROM spend_counters WHERE kind = 'minute' AND scope = '${ALL_AGENTS}'
)
SELECT w.kind, w.scope, w.start FROM kept k CROSS JOIN scopes s CROSS JOIN spend_counters w
  ON w.kind = 'minute' AND w.scope = s.scope AND w.start < k.since`;

const FIND = `${OLD} LIMIT 1`;
const REMOVE = `DELETE FROM spend_counters WHERE (kind, scope, start) IN (${OLD} LIMIT ${ROWS_PER_COMMIT})`;

/** Removes spend by minute that no window of an alert rule can hold any more; days stay. Any instance may, at any time. */
export async function sweepWindows(
  { store, clock }: { store: Store; clock: Pick<Clock, "now"> },
): Promise<void> {
  const args = [clock.now()];
  // Looked for first: there is mostly nothing to remove, and a commit costs a flush.
  while ((await store.read({ sql: FIND, args })).rows.length > 0) await store.write([{ sql: REMOVE, args }]);
}
