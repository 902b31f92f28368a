/** The monitor: it detects anomalies in the behavior of agents. */
export { readAnomalyNotification } from "./anomalies.ts";
export type { MonitorContext } from "./context.ts";
export { type Monitor, startMonitor } from "./monitor.ts";
