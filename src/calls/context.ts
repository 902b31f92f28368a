import type { AlertContext } from "../alerts/mod.ts";
import type { KnownBudgets } from "../budgets/known/mod.ts";
import type { BudgetGate } from "../budgets/reservations/mod.ts";
import type { Bus, Feed } from "../bus/mod.ts";
import type { Log } from "../kernel/log.ts";
import type { ModelCall } from "../ledger/mod.ts";
import type { Secrets } from "../redaction/values/mod.ts";
import type { LazyPriceBook, PriceBook } from "../pricing/mod.ts";
import type { BookingWriter } from "./booking_set.ts";
import type { RollUps } from "./roll_up.ts";
import type { CallSpool } from "./spool/mod.ts";
import type { SessionContext } from "../sessions/mod.ts";
import type { Telemetry } from "../telemetry/mod.ts";

/** The parts of a process that booking uses. */
export interface CallContext extends SessionContext, AlertContext {
  bus: Bus;
  /** The calls that this process has booked. */
  bookedCalls: Feed<ModelCall>;
  gate: BudgetGate;
  budgets: KnownBudgets;
  prices: PriceBook & Partial<Pick<LazyPriceBook, "ready" | "current">>;
  log: Log;
  /** The configured secrets, which are removed from whatever is stored or shown. */
  secrets: Secrets;
  telemetry: Telemetry;
  /** Commits bookings. */
  bookings: BookingWriter;
  rollUps: RollUps;
  /** The calls that were made and could not be booked. */
  callSpool: CallSpool;
  /** Registers work that outlives its request, on platforms that end a process with the request. */
  keepAlive?(work: Promise<unknown>): void;
}
