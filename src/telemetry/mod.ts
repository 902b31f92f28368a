/** What is told of the work: spans and measurements by the OpenTelemetry conventions. */
export { errorTypeOf } from "./error_type.ts";
export { findTelemetry } from "./find_telemetry.ts";
export {
  type Attributes,
  type AttributeValue,
  noTelemetry,
  type Span,
  type SpanStart,
  type Telemetry,
} from "./telemetry.ts";
export { type MetricName, METRICS } from "./metrics.ts";
export { type CallTrace, traceCall } from "./trace_call.ts";
export { traceDelivery } from "./trace_delivery.ts";
export { type RunTrace, traceRun } from "./trace_run.ts";
export { traceTool } from "./trace_tool.ts";
