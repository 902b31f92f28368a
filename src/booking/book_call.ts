import type { Grant } from "../budget/mod.ts";
import { toIso } from "../clock.ts";
import { type ModelCall, recordCalls, toCostEvent } from "../ledger/mod.ts";
import {
  appendEvents,
  type EventPlace,
  keepProgress,
  type NewEvent,
  type Progress,
  readRunState,
  type RunState,
} from "../sessions/mod.ts";
import type { ResultSet, Statement } from "../store/mod.ts";
import type { BookingContext } from "./context.ts";

/** A call of a run that Purser keeps: booked together with what happened in the run since the last commit. */
export interface RunBooking {
  place: EventPlace & { runId: string };
  call: ModelCall;
  progress: Progress;
  grant?: Grant;
}

/**
 * The one write of a model call in a run: ledger, rollups, event log, messages and the reservation in one
 * commit; then the bus hears of it. Resolves when all of it is durable.
 */
export async function bookCall(ctx: BookingContext, booking: RunBooking): Promise<RunState> {
  const { place, call, grant } = booking;
  const events = [...booking.progress.events, costRecorded(call)];
  const statements = [
    ...recordCalls([call]),
    ...(grant ? ctx.gate.bookingStatements(grant) : []),
    ...keepProgress(ctx, place, { events, messages: booking.progress.messages }),
  ];
  const results = await ctx.store.write(statements);
  const state = readRunState(results.at(-1)!, place.runId);
  ctx.gate.settle(place.runId, state.settledNanoUsd);
  if (grant) await ctx.gate.release(grant, true);
  publish(ctx, place, events, state.eventCount, call);
  return state;
}

/** Books a call outside a run that Purser keeps: metered by `meter`, in a session it may not know. */
export async function bookLooseCall(ctx: BookingContext, call: ModelCall, grant?: Grant): Promise<void> {
  const results = await ctx.store.write([
    ...recordCalls([call]),
    ...(grant ? ctx.gate.bookingStatements(grant) : []),
    ...logCalls([call]),
    readSettled([call]),
  ]);
  settle(ctx, results.at(-1)!);
  if (grant) await ctx.gate.release(grant, true);
  publishCost(ctx, call, null);
}

/** The event that tells of a booked call; its payload is the ledger's row. */
export function costRecorded(call: ModelCall): NewEvent {
  return { type: "cost.recorded", at: call.at, callId: call.callId };
}

// A call whose session is not known here is logged outside any session.
const LOG_LOOSE = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, call_id)
SELECT NULL, NULL, c.run_id, c.agent_id, 'cost.recorded', c.at, c.call_id
FROM json_each(?) j CROSS JOIN calls c ON c.call_id = j.value
WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = c.session_id)`;

/** The statements that put calls from elsewhere into the event log. */
export function logCalls(calls: readonly ModelCall[]): Statement[] {
  const bySession = Map.groupBy(
    calls.filter((call) => call.sessionId !== null),
    (call) => JSON.stringify([call.sessionId, call.runId, call.agentId]),
  );
  return [
    ...[...bySession.values()].flatMap((group) => {
      const { sessionId, runId, agentId } = group[0]!;
      return appendEvents({ sessionId: sessionId!, runId, agentId }, group.map(costRecorded));
    }),
    { sql: LOG_LOOSE, args: [JSON.stringify(calls.map((call) => call.callId))] },
  ];
}

const READ_SETTLED = `SELECT run_id, cost_nano_usd FROM spend_runs
WHERE run_id IN (SELECT value FROM json_each(?))`;

/** Reads what the runs of these calls have cost, for `settle`. */
export function readSettled(calls: readonly ModelCall[]): Statement {
  const runIds = new Set(calls.flatMap((call) => call.runId ?? []));
  return { sql: READ_SETTLED, args: [JSON.stringify([...runIds])] };
}

/** Tells the budgets of live runs what their calls have cost by now. */
export function settle(ctx: BookingContext, settled: ResultSet): void {
  for (const [runId, cost] of settled.rows) ctx.gate.settle(runId as string, cost as bigint);
}

/** Publishes `cost.recorded`. */
export function publishCost(ctx: BookingContext, call: ModelCall, seq: number | null): void {
  ctx.bus.publish({
    type: "cost.recorded",
    at: toIso(call.at),
    agent_id: call.agentId,
    session_id: call.sessionId,
    run_id: call.runId,
    seq,
    payload: { ...toCostEvent(call) },
  });
}

function publish(
  ctx: BookingContext,
  place: EventPlace,
  events: readonly NewEvent[],
  eventCount: number,
  call: ModelCall,
): void {
  publishEvents(ctx, place, events.slice(0, -1), eventCount - 1);
  publishCost(ctx, call, eventCount);
}

/** Publishes events that were committed with `lastSeq` as the seq of the last. */
export function publishEvents(
  ctx: Pick<BookingContext, "bus">,
  place: EventPlace,
  events: readonly NewEvent[],
  lastSeq: number,
): void {
  events.forEach((event, index) =>
    ctx.bus.publish({
      type: event.type,
      at: toIso(event.at),
      agent_id: place.agentId,
      session_id: place.sessionId,
      run_id: place.runId,
      seq: lastSeq - (events.length - 1 - index),
      payload: event.payload ?? {},
    })
  );
}
