import type { AlertContext } from "../alerts/mod.ts";
import type { BudgetGate } from "../budgets/mod.ts";
import type { Bus } from "../bus/mod.ts";
import type { Log } from "../kernel/log.ts";
import type { LatePriceBook, PriceBook } from "../pricing/mod.ts";
import type { RollUps } from "./roll_up.ts";
import type { SessionContext } from "../sessions/mod.ts";
import type { Telemetry } from "../telemetry/mod.ts";

/** What booking needs of the process it runs in. */
export interface BookingContext extends SessionContext, AlertContext {
  bus: Bus;
  gate: BudgetGate;
  prices: PriceBook & Partial<Pick<LatePriceBook, "ready">>;
  log: Log;
  telemetry: Telemetry;
  rollUps: RollUps;
  /** Takes work that goes on after what it was for, where a process may be ended with the request that it came by. */
  keepAlive?(work: Promise<unknown>): void;
}
