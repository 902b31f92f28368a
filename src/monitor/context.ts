import type { AlertContext } from "../alerts/mod.ts";
import type { Bus } from "../bus/mod.ts";
import type { Severity } from "../contract/severity.ts";
import type { Log } from "../kernel/log.ts";

/** What the monitor needs of the process it runs in. */
export type MonitorContext = AlertContext & {
  bus: Bus;
  log: Log;
  /** From which severity on channels hear of anomalies; without it they hear of none. */
  notifyAnomaliesFrom?: Severity;
};
