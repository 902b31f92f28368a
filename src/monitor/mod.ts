/** The monitor: it detects anomalies in the behavior of agents. */
export {
  type AnomalyFilter,
  type AnomalyRow,
  describeAnomaly,
  listAnomalies,
  readAnomalyNotification,
  toAnomaly,
} from "./anomalies.ts";
export type { Anomaly } from "../contract/anomalies.ts";
export type { MonitorContext } from "./context.ts";
export { type Monitor, startMonitor } from "./monitor.ts";
