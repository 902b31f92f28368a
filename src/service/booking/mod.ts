/** The booking of calls that others have made, for a short command: apart, since most commands book none. */
import { createBudgetGate } from "../../budgets/reservations/mod.ts";
import { type CallContext, createBookingWriter, RollUps } from "../../calls/mod.ts";
import { HAS_ENABLED_RULES } from "../../ledger/mod.ts";
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
export async function openBooking(core: Core): Promise<BookingCore> {
  const { store, clock, ids, instanceId } = core;
  // Without rules, a commit doesn't prepare what decides them; of one that is added meanwhile, the commit tells (`bookCall()`).
  const { rows: [rules] } = await store.read({ sql: `SELECT ${HAS_ENABLED_RULES}` });
  core.rules.mayExist = rules![0] === 1n;
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
