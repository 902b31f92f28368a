import { announceAlerts } from "../alerts/mod.ts";
import type { Grant } from "../budgets/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { type ModelCall, toCostEvent } from "../ledger/mod.ts";
import type { EventPlace, NewEvent, Progress } from "../sessions/mod.ts";
import { type Booked, type BookedRun, type Booking, createBookingWriter } from "./booking_set.ts";
import type { BookingContext } from "./context.ts";

/** A call of a run that Purser keeps: booked together with what happened in the run since the last commit. */
export interface RunBooking {
  place: EventPlace & { runId: string };
  call: ModelCall;
  progress: Progress;
  grant?: Grant;
}

/**
 * The one write of a model call in a run: ledger, event log, messages and the reservation in one commit, which others
 * may share; then it is published on the bus. Resolves when all of it is durable.
 */
export async function bookCall(ctx: BookingContext, booking: RunBooking): Promise<BookedRun> {
  const { place, call, progress, grant } = booking;
  const { run } = await write(ctx, { calls: [call], run: { place, progress }, grant });
  publishEvents(ctx, place, progress.events, run!.lastSeq - 1);
  publishCost(ctx, call, run!.lastSeq);
  return run!;
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
  await write(ctx, { calls, grant });
  for (const call of calls) publishCost(ctx, call, null);
}

async function write(ctx: BookingContext, booking: Booking): Promise<Booked> {
  const booked = await ctx.store.writeInSet(writerOf(ctx), booking);
  if (booking.grant) ctx.gate.booked(booking.grant, booked.isNextReserved);
  announceAlerts(ctx, booked.fired);
  const hasMissedRules = booked.ledger.hasRules && booked.ledger.undecidedCalls > 0;
  ctx.rules.mayExist = booked.ledger.hasRules;
  const pending = ctx.rollUps.followUp(ctx, booked.ledger);
  if (hasMissedRules) await pending; // another process has added a rule: the call is decided on before its caller continues
  return booked;
}

/** The writer of a process: bookings that wait share a set by it. */
const writers = new WeakMap<object, ReturnType<typeof createBookingWriter>>();

function writerOf(ctx: BookingContext) {
  let writer = writers.get(ctx.rollUps);
  if (!writer) writers.set(ctx.rollUps, writer = createBookingWriter(ctx));
  return writer;
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

/** Publishes events that were committed with `lastSeq` as the seq of the last. */
export function publishEvents(
  ctx: Pick<BookingContext, "bus">,
  place: EventPlace,
  events: readonly NewEvent[],
  lastSeq: number,
): void {
  if (!ctx.bus.isHeard) return;
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
