export { OpenTelemetry } from "npm:@ai-sdk/otel@1.0.173";
