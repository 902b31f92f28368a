import type { Severity } from "../contract/values.ts";
import type { DeliveryContext } from "../delivery/mod.ts";
import type { Bus, Feed } from "../bus/mod.ts";
import type { Log } from "../kernel/log.ts";
import type { ModelCall } from "../ledger/mod.ts";

/** The context of the monitor. */
export type MonitorContext = DeliveryContext & {
  bus: Bus;
  bookedCalls: Feed<ModelCall>;
  log: Log;
  /** The lowest severity of anomalies that channels are notified of; undefined: of no anomaly. */
  notifyAnomaliesFrom?: Severity;
};
