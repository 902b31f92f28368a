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
export { type CallTrace, type RunTrace, traceCall, traceDelivery, traceRun, traceTool } from "./spans.ts";
