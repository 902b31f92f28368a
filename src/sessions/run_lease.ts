import type { Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { leaseNow, leaseTime, type Store } from "../store/mod.ts";
import type { RunRef, SessionContext } from "./context.ts";

/** The state of a run as of its last commit or lease renewal. */
export interface RunState {
  /** False once the session was restored or taken over: its messages are refused from then on. */
  holdsSession: boolean;
  /** A client, perhaps of another instance, has requested the end of the run. */
  isCancelRequested: boolean;
}

/** On a shared database, other instances recover a run whose lease was not renewed for this long. */
export const RUN_LEASE_MS = 60_000;

const EXTEND_LEASE = `UPDATE runs SET lease_until = ?2 + ${leaseTime("?3")}
WHERE run_id = ?1 AND status = 'running'`;

const READ_STATE = `SELECT s.active_run_id = r.run_id, r.cancel_requested
FROM sessions s, runs r WHERE s.session_id = ?1 AND r.run_id = ?2`;

/** Renews the lease of a run, and reads the state of the run. */
export async function renewLease(
  ctx: Pick<SessionContext, "store" | "clock">,
  run: RunRef,
): Promise<RunState> {
  const results = await ctx.store.write([
    { sql: EXTEND_LEASE, args: [run.runId, RUN_LEASE_MS, leaseNow(ctx)] },
    { sql: READ_STATE, args: [run.sessionId, run.runId] },
  ]);
  const [holds, cancel] = results[1]!.rows[0] ?? [];
  return { holdsSession: holds === 1n, isCancelRequested: Number(cancel ?? 0n) !== 0 };
}

/**
 * On a shared database, renews the lease of a run every 10 s, also during a long call, and reports the state of the run.
 * Returns the function that stops it.
 */
export function keepLease(
  ctx: { store: Store; clock: Clock; log: Log },
  run: RunRef,
  onState: (state: RunState) => void | Promise<void>,
): () => void {
  if (!ctx.store.isShared) return () => {};
  const stopped = new AbortController();
  (async () => {
    for (;;) {
      await ctx.clock.sleep(RUN_LEASE_MS / 6, stopped.signal);
      if (stopped.signal.aborted) return;
      try {
        await onState(await renewLease(ctx, run));
      } catch (error) {
        ctx.log.warn("A run's lease could not be renewed", { run_id: run.runId, reason: messageOf(error) });
      }
    }
  })();
  return () => stopped.abort();
}
