import { leaseNow, leaseTime, type SqlValue, type Statement, toObjects } from "../store/mod.ts";
import type { SessionContext } from "./context.ts";

/** What recovery needs besides the sessions: which runs this process still has. */
export interface RecoveryContext extends SessionContext {
  liveRuns: { has(runId: string): boolean };
}

interface UnfinishedRun {
  run_id: string;
  session_id: string;
  instance_id: string;
  lease_until: bigint;
  has_expired: bigint;
}

const LIST = `SELECT run_id, session_id, instance_id, lease_until, lease_until <= ${
  leaseTime("?1")
} AS has_expired
FROM runs WHERE status = 'running' AND run_id = coalesce(?2, run_id)`;

// Every statement carries the whole condition: of several instances that recover a run at once, one does, and a lease that
// was renewed since is left alone.
const HELD = "status = 'running' AND lease_until = ?3";
const IS_DEAD = `EXISTS (SELECT 1 FROM runs WHERE run_id = ?2 AND ${HELD})`;

const LOG = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT session_id, event_count + 1, ?2, agent_id, 'run.interrupted', ?4, ?5
FROM sessions WHERE session_id = ?1 AND ${IS_DEAD}`;
const COUNT = `UPDATE sessions SET event_count = event_count + 1 WHERE session_id = ?1 AND ${IS_DEAD}`;
const FREE_SESSION = `UPDATE sessions SET status = 'interrupted', active_run_id = NULL, updated_at = ?4
WHERE session_id = ?1 AND active_run_id = ?2 AND ${IS_DEAD}`;
const FREE_RESERVATIONS =
  `DELETE FROM reservations WHERE kind = 'run' AND scope = ?2 AND ${IS_DEAD} AND ?1 IS NOT NULL`;
const END_RUN = `UPDATE runs SET status = 'interrupted', ended_at = ?4,
  steps = coalesce((SELECT sum(model_calls) FROM run_usage WHERE run_id = ?2), 0)
WHERE run_id = ?2 AND ${HELD} AND ?1 IS NOT NULL`;

/**
 * Marks runs that no process has any more as `interrupted` and frees their sessions and reservations. At once: runs of this
 * very instance that it no longer has, as their end could not be written, and runs of an instance of this host that is
 * gone. Of all other instances: runs whose lease has expired. Returns their ids.
 *
 * With `runId`, only that run is looked at.
 */
export async function recoverRuns(ctx: RecoveryContext, runId?: string): Promise<string[]> {
  const unfinished = toObjects<UnfinishedRun>(
    await ctx.store.read({ sql: LIST, args: [leaseNow(ctx), runId ?? null] }),
  );
  const now = ctx.clock.now();
  const payload = JSON.stringify({ reason: "the process that ran it ended" });
  const recovered: string[] = [];
  for (const run of unfinished) {
    if (!await isDead(ctx, run)) continue;
    const condition: SqlValue[] = [run.session_id, run.run_id, run.lease_until];
    const statement = (sql: string, ...more: SqlValue[]): Statement => ({
      sql,
      args: [...condition, ...more],
    });
    await ctx.store.write([
      statement(LOG, now, payload),
      statement(COUNT),
      statement(FREE_SESSION, now),
      statement(FREE_RESERVATIONS),
      statement(END_RUN, now),
    ]);
    recovered.push(run.run_id);
  }
  return recovered;
}

async function isDead(
  { store, instanceId, liveRuns }: RecoveryContext,
  { run_id: runId, instance_id: instance, has_expired: hasExpired }: UnfinishedRun,
): Promise<boolean> {
  if (liveRuns.has(runId)) return false;
  if (!store.isShared || instance === instanceId || Number(hasExpired) !== 0) return true;
  return await store.instances.isGone(instance);
}
