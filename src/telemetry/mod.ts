/** Telemetry: spans and metrics by the OpenTelemetry conventions. */
export {
  type Attributes,
  type AttributeValue,
  errorTypeOf,
  findTelemetry,
  noTelemetry,
  type Span,
  type SpanStart,
  type Telemetry,
} from "./telemetry.ts";
export { type MetricName, METRICS } from "./metrics.ts";
export { type CallTrace, traceCall } from "./trace_call.ts";
export { traceDelivery } from "./trace_delivery.ts";
export { type RunTrace, traceRun, traceTool } from "./trace_run.ts";
