/** The behaviour monitor: it detects anomalies in what agents do. */
export { type AnomalyFilter, type AnomalyRow, listAnomalies, toAnomaly } from "./anomaly.ts";
export type { Anomaly } from "../contract/anomalies.ts";
export type { MonitorContext } from "./context.ts";
export { describeAnomaly, readAnomalyNotification } from "./describe_anomaly.ts";
export { type Monitor, startMonitor } from "./monitor.ts";
