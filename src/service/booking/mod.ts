/** The booking of calls that others have made, for a short command: apart, since most commands book none. */
import { createBudgetGate } from "../../budgets/reservations/mod.ts";
import { type CallContext, createBookingWriter, RollUps } from "../../calls/mod.ts";
import type { Core } from "../core.ts";

/** A core with the parts that book calls that others have made, and none that make calls or watch them. */
export type BookingCore = Core & CallContext & {
  /** Resolves once its background work is done. */
  ended(): Promise<void>;
};

/**
 * Returns a core that books calls that others have made: it opens in a fraction of the time of the whole, which is opened as well
 * if an alert fires.
 */
export function openBooking(core: Core): BookingCore {
  const { store, clock, ids, instanceId } = core;
  const rollUps = new RollUps();
  const gate = createBudgetGate({ store, clock, instanceId, newId: ids.next, known: core.budgets });
  return {
    ...core,
    gate,
    bookings: createBookingWriter(core),
    rollUps,
    async ended() {
      await rollUps.ended();
      await gate.close();
    },
  };
}
