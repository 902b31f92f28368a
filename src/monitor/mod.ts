/** The behaviour monitor: it detects anomalies in what agents do. */
export { readAnomalyNotification } from "./anomalies.ts";
export type { MonitorContext } from "./context.ts";
export { type Monitor, startMonitor } from "./monitor.ts";
