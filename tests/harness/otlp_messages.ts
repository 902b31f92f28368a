import { protobuf } from "#dev/protobufjs.ts";

/*
 * Requests of OTLP as protobuf, by another library than the product's decoder. The messages are those of opentelemetry-proto 1.9
 * (Apache-2.0), with the fields that exporters set.
 */

const { root } = protobuf.parse(`
syntax = "proto3";
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message InstrumentationScope {
  string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4;
}
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message Traces { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
  repeated Event events = 11; uint32 dropped_events_count = 12; repeated Link links = 13;
  uint32 dropped_links_count = 14; Status status = 15; fixed32 flags = 16;
}
message Event {
  fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4;
}
message Link {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; fixed32 flags = 6;
}
message Logs { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
message ScopeLogs { InstrumentationScope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
message LogRecord {
  fixed64 time_unix_nano = 1; fixed64 observed_time_unix_nano = 11; int32 severity_number = 2; string severity_text = 3;
  AnyValue body = 5; repeated KeyValue attributes = 6; uint32 dropped_attributes_count = 7; fixed32 flags = 8;
  bytes trace_id = 9; bytes span_id = 10; string event_name = 12;
}
message Partial { int64 rejected = 1; string error_message = 2; }
message Answer { Partial partial_success = 1; }
message Failure { int32 code = 1; string message = 2; }
message Status { string message = 2; int32 code = 3; }
`);

const REQUESTS = { traces: root.lookupType("Traces"), logs: root.lookupType("Logs") };

/** Encodes a request that is written as JSON of the protocol. */
export function encodeOtlp(signal: "traces" | "logs", request: unknown): Uint8Array<ArrayBuffer> {
  const type = REQUESTS[signal];
  return new Uint8Array(type.encode(type.fromObject(withBytes(request) as Record<string, unknown>)).finish());
}

/** Reads a request as JSON of the protocol. */
export function jsonOfOtlp(signal: "traces" | "logs", bytes: Uint8Array): unknown {
  const type = REQUESTS[signal];
  return withHex(type.toObject(type.decode(bytes), { longs: String }));
}

/** Replaces ids in bytes by their hex. */
function withHex(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  if (Array.isArray(value)) return value.map(withHex);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withHex(field)]));
}

/** Reads the answer to a request that was taken. */
export function decodeAnswer(bytes: Uint8Array): { rejected: number; message: string } {
  const { partialSuccess } = root.lookupType("Answer").toObject(
    root.lookupType("Answer").decode(bytes),
    { longs: Number },
  );
  return { rejected: partialSuccess?.rejected ?? 0, message: partialSuccess?.errorMessage ?? "" };
}

/** Reads the `Status` of a request that has failed. */
export function decodeFailure(bytes: Uint8Array): { code: number; message: string } {
  return root.lookupType("Failure").decode(bytes) as unknown as { code: number; message: string };
}

/** Replaces ids in hex by their bytes. */
function withBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      /^(traceId|spanId|parentSpanId)$/.test(name) && typeof field === "string"
        ? Uint8Array.from(field.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
        : withBytes(field),
    ]),
  );
}
