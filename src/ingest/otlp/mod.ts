/** Receives what programs export over the OpenTelemetry protocol (OTLP): their spans and log records are sightings of calls. */
export { CONTENT_TYPE, encodingOf, failure, partialSuccess } from "./answers.ts";
export { decodeJson, decodeProtobuf } from "./decode/mod.ts";
export { createReceiver, type Receiver } from "./receive.ts";
