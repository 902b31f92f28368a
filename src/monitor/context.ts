import type { Severity } from "../contract/values.ts";
import type { DeliveryContext } from "../delivery/mod.ts";
import type { Bus } from "../bus/mod.ts";
import type { Log } from "../kernel/log.ts";

/** What the monitor needs of the process it runs in. */
export type MonitorContext = DeliveryContext & {
  bus: Bus;
  log: Log;
  /** From which severity on channels hear of anomalies; without it they hear of none. */
  notifyAnomaliesFrom?: Severity;
};
