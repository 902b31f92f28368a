export { NodeSDK } from "npm:@opentelemetry/sdk-node@0.301.0";
