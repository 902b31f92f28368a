import { leaseNow, leaseTime } from "../store/mod.ts";
import { type EventPlace } from "./append.ts";
import { RUN_LEASE_MS, type SessionContext } from "./context.ts";
import type { NewEvent } from "./session_event.ts";
import type { NewMessage } from "./session_message.ts";

const EXTEND_LEASE = `UPDATE runs SET lease_until = ?2 + ${leaseTime("?3")}
WHERE run_id = ?1 AND status = 'running'`;

const READ_STATE = `SELECT s.active_run_id = r.run_id, r.cancel_requested
FROM sessions s, runs r WHERE s.session_id = ?1 AND r.run_id = ?2`;

/** What has happened in a run since its last commit. */
export interface Progress {
  events: readonly NewEvent[];
  messages: readonly NewMessage[];
}

/** Where a run stands. */
export interface RunState {
  /** False once the session was restored or taken over: its messages are refused from then on. */
  holdsSession: boolean;
  /** Someone, perhaps through another instance, asked for the run to end. */
  isCancelRequested: boolean;
}

/** Renews a run's lease, which says to other processes that it is alive, and reads where it stands. */
export async function renewLease(
  ctx: Pick<SessionContext, "store" | "clock">,
  place: EventPlace & { runId: string },
): Promise<RunState> {
  const results = await ctx.store.write([
    { sql: EXTEND_LEASE, args: [place.runId, RUN_LEASE_MS, leaseNow(ctx)] },
    { sql: READ_STATE, args: [place.sessionId, place.runId] },
  ]);
  const [holds, cancel] = results[1]!.rows[0] ?? [];
  return { holdsSession: holds === 1n, isCancelRequested: Number(cancel ?? 0n) !== 0 };
}
