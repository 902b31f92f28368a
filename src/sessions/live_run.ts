import type { Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { leaseNow, leaseTime, type Store } from "../store/mod.ts";
import type { RunRef, SessionContext } from "./context.ts";

/** A run in this process. */
export interface LiveRun {
  cancel(reason: string): void;
  ended: Promise<void>;
}

/** The state of a run as of its last commit or lease renewal. */
export interface RunState {
  /** False once the session was restored or taken over: its messages are refused from then on. */
  holdsSession: boolean;
  /** A client, perhaps of another instance, has requested the end of the run. */
  isCancelRequested: boolean;
}

/** The reason of the cancellation of a run that has lost its session. */
export const SESSION_LOST =
  "its session was taken from it: restored from a snapshot, or freed by another instance";

/**
 * Registers a run of this process, so that it can be cancelled and waited for. It is cancelled by the caller's signal, by
 * `LiveRun.cancel()`, and by a state that says so.
 */
export function registerRun(
  { liveRuns }: { liveRuns: Map<string, LiveRun> },
  runId: string,
  callerSignal: AbortSignal | undefined,
) {
  const controller = new AbortController();
  const ended = Promise.withResolvers<void>();
  const cancel = (reason: string) => controller.abort(new DOMException(reason, "AbortError"));
  const onAbort = () => cancel("cancelled by its caller");
  liveRuns.set(runId, { cancel, ended: ended.promise });
  if (callerSignal?.aborted) onAbort();
  callerSignal?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    /** Cancels the run if its state requires it. */
    applyState(state: RunState) {
      if (!state.holdsSession) cancel(SESSION_LOST);
      else if (state.isCancelRequested) cancel("cancelled on request");
    },
    unregister() {
      callerSignal?.removeEventListener("abort", onAbort);
      liveRuns.delete(runId);
      ended.resolve();
    },
  };
}

/** Resolves once no run is in progress. With `graceMs`, runs that take longer are cancelled. */
export async function endLiveRuns(
  { liveRuns, clock }: { liveRuns: ReadonlyMap<string, LiveRun>; clock: Clock },
  graceMs?: number,
): Promise<void> {
  const allEnded = () => Promise.all([...liveRuns.values()].map((run) => run.ended));
  if (graceMs !== undefined && liveRuns.size > 0) {
    const over = new AbortController();
    await Promise.race([allEnded(), clock.sleep(graceMs, over.signal)]);
    over.abort();
    for (const run of liveRuns.values()) run.cancel("the process is ending");
  }
  await allEnded();
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
  onState: (state: RunState) => void,
): () => void {
  if (!ctx.store.isShared) return () => {};
  const stopped = new AbortController();
  (async () => {
    for (;;) {
      await ctx.clock.sleep(RUN_LEASE_MS / 6, stopped.signal);
      if (stopped.signal.aborted) return;
      try {
        onState(await renewLease(ctx, run));
      } catch (error) {
        ctx.log.warn("A run's lease could not be renewed", { run_id: run.runId, reason: messageOf(error) });
      }
    }
  })();
  return () => stopped.abort();
}
