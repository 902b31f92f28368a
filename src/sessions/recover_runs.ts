import type { Log } from "../kernel/log.ts";
import { scopeSql } from "../ledger/mod.ts";
import { leaseNow, leaseTime, type SqlValue, type Statement, tables, toObjects } from "../store/mod.ts";
import type { SessionContext } from "./context.ts";
import { eq } from "drizzle-orm";
import { PurserError } from "../kernel/errors.ts";
import type { LiveRun } from "./live_run.ts";
import { runNotFound } from "./read_sessions.ts";

/** The parts of a process that recovery uses. */
export interface RecoveryContext extends SessionContext {
  /** The runs of this process. */
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

// Every statement repeats the whole condition: of several instances that recover a run at the same time, one succeeds, and
// a run whose lease was renewed since stays as it is.
const HELD = "status = 'running' AND lease_until = ?2";
const IS_DEAD = `EXISTS (SELECT 1 FROM runs WHERE run_id = ?1 AND ${HELD})`;

const LOG = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT session_id, event_count + 1, ?1, agent_id, 'run.interrupted', ?4, ?5
FROM sessions WHERE session_id = ?3 AND ${IS_DEAD}`;
const COUNT = `UPDATE sessions SET event_count = event_count + 1 WHERE session_id = ?3 AND ${IS_DEAD}`;
const FREE_SESSION = `UPDATE sessions SET status = 'interrupted', active_run_id = NULL, updated_at = ?4
WHERE session_id = ?3 AND active_run_id = ?1 AND ${IS_DEAD}`;
const RUN = scopeSql("run", "?1");
const OF_RUN =
  `${IS_DEAD} AND reservation_id IN (SELECT h.reservation_id FROM reservations h WHERE h.scope = ${RUN})`;
const FREE_RESERVATIONS = `DELETE FROM reservations WHERE is_lost = 0 AND is_held = 0 AND ${OF_RUN}`;
// Reservations that a strict budget counts stay held: the call may have been sent. Other budgets no longer count them.
const END_LEASES = `UPDATE reservations SET expires_at = 0 WHERE is_lost = 0 AND is_held = 1 AND ${OF_RUN}`;
const FREE_RUN = `DELETE FROM reservations WHERE scope = ${RUN} AND ${IS_DEAD}`;
const END_RUN = `UPDATE runs SET status = 'interrupted', ended_at = ?3,
  steps = coalesce((SELECT sum(model_calls) FROM run_usage WHERE run_id = ?1), 0)
WHERE run_id = ?1 AND ${HELD}`;

/**
 * Recovers dead runs: marks them `interrupted` and frees their sessions and reservations. Returns their ids. Dead are
 *
 * - runs of this instance that are not in `liveRuns`, because their end could not be written, and runs of an instance of this
 *   host that is gone: at once;
 * - runs of all other instances: once their lease has expired.
 *
 * Everything that the run has committed stays: calls, events and messages up to its last booking. A call that the provider
 * has answered, but whose booking was not committed when the process died, is not in the ledger and is not added here: its
 * tokens are known to the provider alone. Reservations of such a call that strict budgets count stay held; others are freed.
 *
 * With `runId`, only that run is examined.
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
    const { run_id, lease_until, session_id } = run;
    const statement = (sql: string, ...more: SqlValue[]): Statement => ({
      sql,
      args: [run_id, lease_until, ...more],
    });
    await ctx.store.write([
      statement(LOG, session_id, now, payload),
      statement(COUNT, session_id),
      statement(FREE_SESSION, session_id, now),
      statement(FREE_RESERVATIONS),
      statement(END_LEASES),
      statement(FREE_RUN),
      statement(END_RUN, now),
    ]);
    recovered.push(run_id);
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

/** The pause before the next attempt to write the end of a run. */
const RETRY_MS = 1_000;

/** Retries to end the runs of this process whose end could not be written, as on a full disk. */
export interface RunEndRetries {
  /** Marks a run `interrupted`, in the background, with retries until it succeeds. A run that has ended stays as it is. */
  add(runId: string): void;
  /** Makes the last attempt, when the process ends; other processes recover the runs that remain. */
  stop(): Promise<void>;
}

/** Creates the retries of a process; they end when `stopping` aborts. */
export function createRunEndRetries(
  ctx: RecoveryContext & { log: Log; stopping: AbortSignal },
): RunEndRetries {
  const runs = new Set<string>();
  let isRetrying = false;

  /** Returns false if the database has refused it. */
  async function endAll(): Promise<boolean> {
    try {
      for (const runId of runs) {
        const ended = await recoverRuns(ctx, runId);
        if (ended.length > 0) {
          ctx.log.warn("A run whose end could not be written was marked interrupted", { run_id: runId });
        }
        runs.delete(runId);
      }
      return true;
    } catch {
      return false; // the run itself has reported why
    }
  }

  async function retry(): Promise<void> {
    isRetrying = true;
    do {
      await ctx.clock.sleep(RETRY_MS, ctx.stopping);
    } while (!ctx.stopping.aborted && (!await endAll() || runs.size > 0));
    isRetrying = false;
  }

  return {
    add(runId) {
      runs.add(runId);
      if (!isRetrying && !ctx.stopping.aborted) void retry();
    },
    stop: async () => void await endAll(),
  };
}

const { runs } = tables;

/**
 * Cancels a run of any instance. A run of this process ends at once, one of another instance at its next commit or lease
 * renewal, and a dead run becomes `interrupted`.
 *
 * @throws {PurserError} `not_found`, or `conflict` when the run has ended
 */
export async function cancelRun(
  ctx: SessionContext & { liveRuns: ReadonlyMap<string, LiveRun> },
  runId: string,
): Promise<void> {
  await requestCancel(ctx, runId);
  const run = ctx.liveRuns.get(runId);
  if (run) run.cancel("cancelled on request");
  else await recoverRuns(ctx, runId);
}

const REQUEST = "UPDATE runs SET cancel_requested = 1 WHERE run_id = ? AND status = 'running'";

/** Requests in the database that a run ends. Throws like `cancelRun()`. */
export async function requestCancel(ctx: SessionContext, runId: string): Promise<void> {
  const [run] = await ctx.query.select({ status: runs.status }).from(runs).where(eq(runs.runId, runId));
  if (!run) throw runNotFound(runId);
  if (run.status !== "running") {
    throw new PurserError("conflict", `Cannot cancel run ${runId}: it has ended (${run.status})`);
  }
  // Last: the run may end by this very request before anything else could be read.
  await ctx.store.write([{ sql: REQUEST, args: [runId] }]);
}
