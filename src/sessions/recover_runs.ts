import { type SqlValue, type Statement, toObjects } from "../store/mod.ts";
import { LEASE_NOW, leaseNow, type SessionContext } from "./context.ts";

// Every statement carries the whole condition, so that of several instances that recover at once one does.
const IS_DEAD = "EXISTS (SELECT 1 FROM runs WHERE run_id = ?2 AND status = 'running' AND lease_until <= ?3)";

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
WHERE run_id = ?2 AND status = 'running' AND lease_until <= ?3 AND ?1 IS NOT NULL`;

/**
 * Marks runs whose process has died as `interrupted` and frees their sessions and reservations. The owner
 * of a file takes every unfinished run for dead; on a shared database only those whose lease has expired
 * are, so a starting instance never touches the live runs of its peers. Returns their ids.
 *
 * With `runId`, only that run is looked at.
 */
export async function recoverRuns(ctx: SessionContext, runId?: string): Promise<string[]> {
  const isShared = ctx.store.kind === "remote";
  const deadSince = isShared ? LEASE_NOW : "?";
  const dead = toObjects<{ run_id: string; session_id: string; now: bigint }>(
    await ctx.store.read({
      sql: `SELECT run_id, session_id, ${deadSince} AS now FROM runs
WHERE status = 'running' AND lease_until <= ${deadSince} AND run_id = coalesce(?, run_id)`,
      args: [...Array(2).fill(isShared ? leaseNow(ctx) : Number.MAX_SAFE_INTEGER), runId ?? null],
    }),
  );
  const now = ctx.clock.now();
  const payload = JSON.stringify({ reason: "the process that ran it ended" });
  for (const { run_id, session_id, now: deadline } of dead) {
    const condition: SqlValue[] = [session_id, run_id, deadline];
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
  }
  return dead.map((run) => run.run_id);
}
