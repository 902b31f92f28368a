import type {
  Attributes,
  AttributeValue,
  InstrumentationScope,
  LogRecord,
  SpanRecord,
  TelemetryRecord,
} from "../records.ts";
import { PARSED_ATTRIBUTES, READ_ATTRIBUTES } from "../dialects/registry.ts";
import {
  type AttributeNames,
  completeLog,
  type Decoded,
  MAX_DEPTH,
  MAX_LENGTH,
  MAX_RECORDS,
  MAX_VALUES,
  newLog,
  newScope,
  newSpan,
  RECORD_UNITS,
  type Signal,
} from "./decoded.ts";
import { malformed, WIRE, WireReader } from "./wire_reader.ts";

/*
 * The fields by their tags, which are a field's number times 8 plus its wire type: opentelemetry-proto 1.9,
 * opentelemetry/proto/{common,resource,trace,logs}/v1/*.proto. A known number with another wire type is an unknown field.
 */

const tag = (field: number, wireType: number) => field * 8 + wireType;

/** The groups of a request and the resource of a group; the groups of scopes in it and the records in those. */
const [FIRST, SECOND] = [tag(1, WIRE.bytes), tag(2, WIRE.bytes)];

/** Reads the records of an `ExportTraceServiceRequest` or `ExportLogsServiceRequest`; yields units of work. */
export function* decodeProtobuf(
  bytes: Uint8Array,
  signal: Signal,
  names: AttributeNames = READ_ATTRIBUTES,
): Generator<number, Decoded> {
  const reader = new WireReader(bytes);
  const readRecord = signal === "traces" ? readSpan : readLog;
  const records: TelemetryRecord[] = [];
  let beyond = 0;
  for (const groupEnd of messages(reader, bytes.length, FIRST)) {
    const start = reader.at;
    const resource = readResource(reader, groupEnd);
    yield RECORD_UNITS + reader.at - start;
    reader.at = start;
    for (const scopeEnd of messages(reader, groupEnd, SECOND)) {
      const scopeStart = reader.at;
      const scope = readScope(reader, scopeEnd);
      yield RECORD_UNITS;
      reader.at = scopeStart;
      for (const end of messages(reader, scopeEnd, SECOND)) {
        yield RECORD_UNITS + end - reader.at;
        if (records.length < MAX_RECORDS) records.push(readRecord(reader, end, resource, scope, names));
        else beyond++;
      }
    }
  }
  return { records, beyond };
}

/** Yields the end of each message of a tag within one that ends at `end`, with the reader at its beginning. */
function* messages(reader: WireReader, end: number, wanted: number): Generator<number, void> {
  while (reader.at < end) {
    const found = reader.uint32();
    if (found === wanted) {
      const messageEnd = reader.endOfField(end);
      reader.countSkip();
      yield messageEnd;
      reader.at = messageEnd;
    } else reader.skip(found & 7, end);
  }
  reader.finish(end);
}

/** Reads the resource of a group, wherever it stands in it. */
function readResource(reader: WireReader, groupEnd: number): Attributes {
  const attributes = new Map<string, AttributeValue>();
  reader.valuesLeft = MAX_VALUES;
  for (const end of messages(reader, groupEnd, FIRST)) {
    while (reader.at < end) {
      const found = reader.uint32();
      if (found === FIRST) readAttribute(reader, end, attributes, 0);
      else reader.skip(found & 7, end);
    }
    reader.finish(end);
  }
  return attributes;
}

function readScope(reader: WireReader, groupEnd: number): InstrumentationScope {
  const scope = newScope();
  for (const end of messages(reader, groupEnd, FIRST)) {
    while (reader.at < end) {
      const found = reader.uint32();
      if (found === tag(1, WIRE.bytes)) scope.name = reader.text(end);
      else if (found === tag(2, WIRE.bytes)) scope.version = reader.text(end);
      else reader.skip(found & 7, end);
    }
    reader.finish(end);
  }
  return scope;
}

function readSpan(
  reader: WireReader,
  end: number,
  resource: Attributes,
  scope: InstrumentationScope,
  names: AttributeNames,
): SpanRecord {
  const span = newSpan(resource, scope);
  const attributes = new Map<string, AttributeValue>();
  span.attributes = attributes;
  reader.valuesLeft = MAX_VALUES;
  while (reader.at < end) {
    const found = reader.uint32();
    switch (found) {
      case tag(1, WIRE.bytes):
        span.traceId = reader.id(16, end);
        break;
      case tag(2, WIRE.bytes):
        span.spanId = reader.id(8, end);
        break;
      case tag(3, WIRE.bytes):
        span.traceState = reader.text(end);
        break;
      case tag(4, WIRE.bytes):
        span.parentSpanId = reader.id(8, end);
        break;
      case tag(5, WIRE.bytes):
        span.name = reader.text(end);
        break;
      case tag(7, WIRE.fixed64):
        span.startsAt = reader.time();
        break;
      case tag(8, WIRE.fixed64):
        span.endsAt = reader.time();
        break;
      case tag(9, WIRE.bytes):
        readAttribute(reader, end, attributes, 0, names);
        break;
      case tag(15, WIRE.bytes):
        span.hasFailed = readStatus(reader, reader.endOfField(end)) === STATUS_ERROR;
        break;
      case tag(1, WIRE.fixed64):
        throw malformed("it has log records, not spans; send them to /v1/logs");
      case tag(7, WIRE.bytes): // the sum of a metric
        throw malformed("it has metrics, not spans");
      default:
        reader.skip(found & 7, end);
    }
  }
  reader.finish(end);
  return span;
}

const STATUS_ERROR = 2;

function readStatus(reader: WireReader, end: number): number {
  let code = 0;
  while (reader.at < end) {
    const found = reader.uint32();
    if (found === tag(3, WIRE.varint)) code = reader.uint32();
    else reader.skip(found & 7, end);
  }
  reader.finish(end);
  return code;
}

function readLog(
  reader: WireReader,
  end: number,
  resource: Attributes,
  scope: InstrumentationScope,
  names: AttributeNames,
): LogRecord {
  const log = newLog(resource, scope);
  const attributes = new Map<string, AttributeValue>();
  log.attributes = attributes;
  let observedAt = NaN;
  reader.valuesLeft = MAX_VALUES;
  while (reader.at < end) {
    const found = reader.uint32();
    switch (found) {
      case tag(1, WIRE.fixed64):
        log.at = reader.time();
        break;
      case tag(6, WIRE.bytes):
        readAttribute(reader, end, attributes, 0, names);
        break;
      case tag(9, WIRE.bytes):
        log.traceId = reader.id(16, end);
        break;
      case tag(10, WIRE.bytes):
        log.spanId = reader.id(8, end);
        break;
      case tag(11, WIRE.fixed64):
        observedAt = reader.time();
        break;
      case tag(12, WIRE.bytes):
        log.name = reader.text(end);
        break;
      case tag(1, WIRE.bytes):
        throw malformed("it has spans or metrics, not log records; send spans to /v1/traces");
      default:
        reader.skip(found & 7, end);
    }
  }
  reader.finish(end);
  return completeLog(log, observedAt);
}

/** Reads a `KeyValue`; one of another name and bytes as its value are left out, and contents are `''`. */
function readAttribute(
  reader: WireReader,
  around: number,
  into: { set(name: string, value: AttributeValue): unknown },
  depth: number,
  names?: AttributeNames,
): void {
  const end = reader.endOfField(around);
  if (--reader.valuesLeft < 0) return reader.skipTo(end);
  let name = "";
  let value: AttributeValue | undefined = null;
  while (reader.at < end) {
    const found = reader.uint32();
    if (found === tag(1, WIRE.bytes)) name = reader.name(end);
    else if (found === tag(2, WIRE.bytes)) {
      const valueEnd = reader.endOfField(end);
      if (names && name !== "" && !names.has(name)) reader.at = valueEnd;
      else if (valueEnd - reader.at <= MAX_LENGTH || PARSED_ATTRIBUTES.has(name)) {
        value = readValue(reader, valueEnd, depth);
      } else [value, reader.at] = ["", valueEnd];
    } else reader.skip(found & 7, end);
  }
  reader.finish(end);
  if (value !== undefined && (names?.has(name) ?? true)) into.set(name, value);
}

/** Reads an `AnyValue`; undefined for bytes. */
function readValue(reader: WireReader, end: number, depth: number): AttributeValue | undefined {
  let value: AttributeValue | undefined = null;
  while (reader.at < end) {
    const found = reader.uint32();
    switch (found) {
      case tag(1, WIRE.bytes):
        value = reader.text(end);
        break;
      case tag(2, WIRE.varint):
        value = reader.uint32() !== 0;
        break;
      case tag(3, WIRE.varint):
        value = reader.int64();
        break;
      case tag(4, WIRE.fixed64):
        value = reader.double();
        break;
      case tag(5, WIRE.bytes):
        value = readList(reader, end, depth + 1);
        break;
      case tag(6, WIRE.bytes):
        value = readMap(reader, end, depth + 1);
        break;
      case tag(7, WIRE.bytes):
        value = undefined;
        reader.at = reader.endOfField(end);
        break;
      default:
        reader.skip(found & 7, end);
    }
  }
  reader.finish(end);
  return value;
}

function readList(reader: WireReader, around: number, depth: number): AttributeValue {
  const end = reader.endOfField(around);
  const list: AttributeValue[] = [];
  while (reader.at < end) {
    if (depth > MAX_DEPTH || --reader.valuesLeft < 0) {
      reader.at = end;
      return depth > MAX_DEPTH ? null : list;
    }
    const found = reader.uint32();
    if (found === FIRST) list.push(readValue(reader, reader.endOfField(end), depth) ?? null);
    else reader.skip(found & 7, end);
  }
  reader.finish(end);
  return list;
}

function readMap(reader: WireReader, around: number, depth: number): AttributeValue {
  const end = reader.endOfField(around);
  // Without a prototype, also the name __proto__ is one of a member.
  const map = Object.create(null) as Record<string, AttributeValue>;
  const into = { set: (name: string, value: AttributeValue) => map[name] = value };
  while (reader.at < end) {
    if (depth > MAX_DEPTH) {
      reader.at = end;
      return null;
    }
    const found = reader.uint32();
    if (found === FIRST) readAttribute(reader, end, into, depth);
    else reader.skip(found & 7, end);
  }
  reader.finish(end);
  return map;
}
