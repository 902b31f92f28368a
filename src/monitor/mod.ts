/** The behaviour monitor: it notices what agents do out of the ordinary. */
export { type AnomalyRow, toAnomaly } from "./anomaly.ts";
export type { Anomaly } from "../contract/anomalies.ts";
export type { MonitorContext } from "./context.ts";
export { describeAnomaly } from "./describe_anomaly.ts";
export { type AnomalyFilter, listAnomalies } from "./list_anomalies.ts";
export { type Monitor, startMonitor } from "./monitor.ts";
export { readAnomalyNotification } from "./read_notification.ts";
