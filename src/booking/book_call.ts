import { announceAlerts, decideAlerts, readFired } from "../alerts/mod.ts";
import type { Grant } from "../budget/mod.ts";
import { toIso } from "../clock.ts";
import { type ModelCall, recordCalls, toCostEvent } from "../ledger/mod.ts";
import {
  type EventPlace,
  keepProgress,
  type NewEvent,
  type Progress,
  readRunState,
  type RunState,
} from "../sessions/mod.ts";
import type { Statement } from "../store/mod.ts";
import type { BookingContext } from "./context.ts";
import { writeParts } from "./write_parts.ts";

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
  const results = await writeParts(ctx.store, {
    record: recordCalls([call]),
    reservation: grant ? ctx.gate.bookingStatements(grant) : [],
    alerts: decideAlerts(ctx, [call]),
    progress: keepProgress(ctx, place, { events, messages: booking.progress.messages }),
  });
  const state = readRunState(results.progress.at(-1)!, place.runId);
  ctx.gate.settle(place.runId, state.settledNanoUsd);
  if (grant) ctx.gate.booked(grant, results.reservation);
  publish(ctx, place, events, state.eventCount, call);
  announceAlerts(ctx, readFired(results.alerts));
  return state;
}

/**
 * Books calls outside a run that Purser keeps, in sessions it may not know: metered by `meter`, or reported.
 *
 * @throws {ConstraintError} one of them is in the ledger already; none is booked
 */
export async function bookLooseCalls(
  ctx: BookingContext,
  calls: readonly ModelCall[],
  grant?: Grant,
): Promise<void> {
  const results = await writeParts(ctx.store, {
    record: recordCalls(calls),
    reservation: grant ? ctx.gate.bookingStatements(grant) : [],
    alerts: decideAlerts(ctx, calls),
    log: logCalls(calls),
    settled: [readSettled(calls)],
  });
  for (const [runId, cost] of results.settled[0]!.rows) ctx.gate.settle(runId as string, cost as bigint);
  if (grant) ctx.gate.booked(grant, results.reservation);
  for (const call of calls) publishCost(ctx, call, null);
  announceAlerts(ctx, readFired(results.alerts));
}

/** The event that tells of a booked call; its payload is the ledger's row. */
function costRecorded(call: ModelCall): NewEvent {
  return { type: "cost.recorded", at: call.at, callId: call.callId };
}

// A call whose session is not known here is logged outside any session.
const LOG = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, call_id)
SELECT s.session_id,
  CASE WHEN s.session_id IS NOT NULL THEN s.event_count + row_number() OVER (PARTITION BY s.session_id ORDER BY j.key) END,
  c.run_id, c.agent_id, 'cost.recorded', c.at, c.call_id
FROM json_each(?) j CROSS JOIN calls c ON c.call_id = j.value LEFT JOIN sessions s ON s.session_id = c.session_id
ORDER BY j.key`;

const COUNT = `UPDATE sessions SET event_count = event_count + (j.value ->> 1)
FROM json_each(?) j WHERE sessions.session_id = j.value ->> 0`;

/** The statements that put calls from elsewhere, booked in the same unit, into the event log. */
function logCalls(calls: readonly ModelCall[]): Statement[] {
  const perSession = new Map<string, number>();
  for (const { sessionId } of calls) {
    if (sessionId !== null) perSession.set(sessionId, (perSession.get(sessionId) ?? 0) + 1);
  }
  const log = { sql: LOG, args: [JSON.stringify(calls.map((call) => call.callId))] };
  return perSession.size === 0 ? [log] : [log, { sql: COUNT, args: [JSON.stringify([...perSession])] }];
}

const READ_SETTLED = `SELECT run_id, cost_nano_usd FROM spend_runs
WHERE run_id IN (SELECT value FROM json_each(?))`;

/** Reads what the runs of these calls have cost by now: what the budgets of live runs must know. */
function readSettled(calls: readonly ModelCall[]): Statement {
  const runIds = new Set(calls.flatMap((call) => call.runId ?? []));
  return { sql: READ_SETTLED, args: [JSON.stringify([...runIds])] };
}

/** Publishes `cost.recorded`. */
function publishCost(ctx: BookingContext, call: ModelCall, seq: number | null): void {
  if (!ctx.bus.isHeard) return;
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
