/** Decodes the requests of the OpenTelemetry protocol (OTLP 1.9). */
export { type Decoded, MAX_RECORDS } from "./decoded.ts";
export { decodeJson } from "./json.ts";
export { decodeProtobuf } from "./protobuf.ts";
