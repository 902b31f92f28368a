import { announceAlerts } from "../alerts/mod.ts";
import type { Grant } from "../budgets/reservations/mod.ts";
import { DAY_MS, toIso } from "../kernel/clock.ts";
import { type ModelCall, toCostEvent } from "../ledger/mod.ts";
import { type Progress, publishEvents, type RunRef } from "../sessions/mod.ts";
import type { Booked, BookedRun, Booking } from "./booking_set.ts";
import type { CallContext } from "./context.ts";
import { completeCalls } from "./sightings/complete_calls.ts";
import { withdrawLesser } from "./sightings/entries.ts";

/** A call of a run, booked together with the events and messages of the run since its last commit. */
export interface RunBooking {
  run: RunRef;
  call: ModelCall;
  progress: Progress;
  grant?: Grant;
}

/**
 * Books a model call of a run: its row in the ledger, its events and messages, and the end of its reservation are one commit,
 * which other bookings may share. Resolves when all of it is durable; the bus publishes it then.
 *
 * @throws {ConstraintError} the call is in the ledger already; nothing is booked
 */
export async function bookCall(ctx: CallContext, booking: RunBooking): Promise<BookedRun> {
  const { run, call, progress, grant } = booking;
  const { run: state } = await write(ctx, { calls: [call], run: { ref: run, progress }, grant });
  publishEvents(ctx, run, progress.events, state!.lastSeq - 1);
  publishCost(ctx, call, state!.lastSeq);
  return state!;
}

/**
 * Books calls that belong to no run of Purser: those of `meter()` and the gateway, and reports. Their sessions need not be in
 * this database. `witnessed` has what witnesses have changed of other calls.
 *
 * @throws {ConstraintError} one of them is in the ledger already; none is booked
 */
export async function bookLooseCalls(
  ctx: CallContext,
  calls: readonly ModelCall[],
  more: Pick<Booking, "grant" | "settles" | "witnessed" | "mayLose"> = {},
): Promise<void> {
  await write(ctx, { calls, ...more });
  // An import may read of many calls that were made long ago: they are no news.
  const since = more.witnessed ? ctx.clock.now() - DAY_MS : -Infinity;
  for (const call of calls) if (call.at >= since) publishCost(ctx, call, null);
}

async function write(ctx: CallContext, booking: Booking): Promise<Booked> {
  await ctx.budgets.refresh();
  const booked = await ctx.store.writeInSet(ctx.bookings, booking);
  if (booking.grant) ctx.gate.booked(booking.grant);
  announceAlerts(ctx, booked.fired);
  // Another process has written the first sightings since: take back what they have led to, before the caller continues.
  if (booked.hasMissedSightings) await ctx.store.write(withdrawLesser(booking.calls));
  if (booked.ledger.hasSightings) await completeCalls(ctx, booking.calls);
  const hasMissedRules = booked.ledger.hasRules && booked.ledger.undecidedCalls > 0;
  ctx.rules.mayExist = booked.ledger.hasRules;
  const pending = ctx.rollUps.followUp(ctx, booked.ledger);
  if (hasMissedRules) await pending; // another process has added a rule: evaluate it before the caller continues
  return booked;
}

/** Publishes a booked call: as `cost.recorded` where that has a subscriber. */
function publishCost(ctx: CallContext, call: ModelCall, seq: number | null): void {
  ctx.bookedCalls.publish(call);
  if (!ctx.bus.hasSubscribers("cost.recorded")) return;
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
