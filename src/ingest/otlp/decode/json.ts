import { PurserError } from "../../../kernel/errors.ts";
import { toSnakeCase } from "../../../kernel/text.ts";
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
  msOfNanos,
  newLog,
  newSpan,
  RECORD_UNITS,
  type Signal,
} from "./decoded.ts";

/*
 * The JSON of the protocol (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): names in lowerCamelCase, ids in hex,
 * 64-bit integers as texts or numbers, enumerations as numbers. Names in snake_case are taken too.
 */

const NAMES = {
  traces: { groups: "resourceSpans", scopes: "scopeSpans", records: "spans" },
  logs: { groups: "resourceLogs", scopes: "scopeLogs", records: "logRecords" },
} as const satisfies Record<Signal, unknown>;

/** The field of each signal, and the path that takes it. */
const OTHERS = [
  ["resourceSpans", "spans; send them to /v1/traces"],
  ["resourceLogs", "log records; send them to /v1/logs"],
  ["resourceMetrics", "metrics"],
] as const;

/** Reads the records of a parsed request; yields units of work. */
export function* decodeJson(
  request: unknown,
  signal: Signal,
  attributes: AttributeNames = READ_ATTRIBUTES,
): Generator<number, Decoded> {
  const names = NAMES[signal];
  const root = objectOf(request, "the body");
  for (const [name, what] of OTHERS) {
    if (name !== names.groups && fieldOf(root, name) !== undefined) throw invalid(`it has ${what}`);
  }
  const readRecord = signal === "traces" ? readSpan : readLog;
  const records: TelemetryRecord[] = [];
  let beyond = 0;
  for (const given of listOf(root, names.groups)) {
    const group = objectOf(given, names.groups);
    const resource = new AttributeReader().read(objectOf(fieldOf(group, "resource"), "resource"));
    yield RECORD_UNITS;
    for (const given of listOf(group, names.scopes)) {
      const scopeGroup = objectOf(given, names.scopes);
      const { name, version } = objectOf(fieldOf(scopeGroup, "scope"), "scope");
      const scope = { name: toText(name), version: toText(version) };
      yield RECORD_UNITS;
      for (const given of listOf(scopeGroup, names.records)) {
        const values = new AttributeReader(attributes);
        if (records.length < MAX_RECORDS) {
          records.push(readRecord(objectOf(given, names.records), values, resource, scope));
        } else beyond++;
        yield RECORD_UNITS + UNITS_PER_VALUE * (MAX_VALUES - values.left);
      }
    }
  }
  return { records, beyond };
}

const UNITS_PER_VALUE = 10;

type Json = Readonly<Record<string, unknown>>;

/** Returns a field by its name in lowerCamelCase or in snake_case; undefined for null. */
function fieldOf(object: Json, name: string): unknown {
  return object[name] ?? object[SNAKE_CASE[name] ?? name] ?? undefined;
}

const SNAKE_CASE: Readonly<Record<string, string>> = Object.fromEntries(
  [
    "resourceSpans scopeSpans resourceLogs scopeLogs logRecords resourceMetrics traceId spanId parentSpanId traceState",
    "startTimeUnixNano endTimeUnixNano timeUnixNano observedTimeUnixNano eventName",
    "stringValue boolValue intValue doubleValue arrayValue kvlistValue bytesValue",
  ].join(" ").split(" ").map((name) => [name, toSnakeCase(name)]),
);

function objectOf(value: unknown, name: string): Json {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Json;
  throw invalid(`${name} isn't an object`);
}

function listOf(object: Json, name: string): readonly unknown[] {
  const value = fieldOf(object, name);
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw invalid(`${name} isn't a list`);
}

const invalid = (reason: string) => new PurserError("invalid", `Cannot read the body: ${reason}`);

const toText = (value: unknown) => typeof value === "string" ? value : "";
const textOf = (object: Json, name: string) => toText(fieldOf(object, name));

/** Returns an id of so many hex digits in lower case; `''` for any other, and for zeros. */
function idOf(object: Json, name: string, digits: number): string {
  const id = textOf(object, name);
  return id.length === digits && /^[\da-f]+$/i.test(id) && /[^0]/.test(id) ? id.toLowerCase() : "";
}

/** Returns a time in milliseconds; NaN for a missing one, 0 and what is no number. */
function timeOf(object: Json, name: string): number {
  const value = fieldOf(object, name);
  return typeof value === "string" && value.trim() !== "" || typeof value === "number"
    ? msOfNanos(Number(value))
    : NaN;
}

function readSpan(
  object: Json,
  values: AttributeReader,
  resource: Attributes,
  scope: InstrumentationScope,
): SpanRecord {
  const status = objectOf(fieldOf(object, "status"), "status");
  return {
    ...newSpan(resource, scope),
    traceId: idOf(object, "traceId", 32),
    spanId: idOf(object, "spanId", 16),
    parentSpanId: idOf(object, "parentSpanId", 16),
    traceState: textOf(object, "traceState"),
    name: textOf(object, "name"),
    startsAt: timeOf(object, "startTimeUnixNano"),
    endsAt: timeOf(object, "endTimeUnixNano"),
    attributes: values.read(object),
    hasFailed: status.code === 2 || status.code === "STATUS_CODE_ERROR",
  };
}

function readLog(
  object: Json,
  values: AttributeReader,
  resource: Attributes,
  scope: InstrumentationScope,
): LogRecord {
  const log: LogRecord = {
    ...newLog(resource, scope),
    traceId: idOf(object, "traceId", 32),
    spanId: idOf(object, "spanId", 16),
    name: textOf(object, "eventName"),
    at: timeOf(object, "timeUnixNano"),
    attributes: values.read(object),
  };
  return completeLog(log, timeOf(object, "observedTimeUnixNano"));
}

/** Reads the attributes of a record, of a resource or of a scope: so many values in all. */
class AttributeReader {
  left = MAX_VALUES;

  constructor(private readonly names?: AttributeNames) {}

  read(object: Json): Attributes {
    const attributes = new Map<string, AttributeValue>();
    this.#readInto(attributes, listOf(object, "attributes"), 0);
    return attributes;
  }

  #readInto(into: { set(name: string, value: AttributeValue): unknown }, list: unknown, depth: number): void {
    if (!Array.isArray(list)) return;
    for (const given of list) {
      if (--this.left < 0) return;
      const attribute = objectOf(given, "an attribute");
      const name = textOf(attribute, "key");
      if (depth === 0 && this.names?.has(name) === false) continue;
      const value = this.valueOf(attribute.value, depth, PARSED_ATTRIBUTES.has(name));
      if (value !== undefined) into.set(name, value);
    }
  }

  /** Returns the value of an `AnyValue`; undefined for bytes, and `''` for a long text that isn't parsed. */
  valueOf(given: unknown, depth: number, isParsed = false): AttributeValue | undefined {
    const object = objectOf(given, "the value of an attribute");
    const text = fieldOf(object, "stringValue");
    if (text !== undefined) {
      if (typeof text !== "string") return null;
      return text.length <= MAX_LENGTH || isParsed ? text : "";
    }
    const integer = fieldOf(object, "intValue");
    if (integer !== undefined) return toInteger(integer);
    const bool = fieldOf(object, "boolValue");
    if (bool !== undefined) return bool === true || bool === "true";
    const double = fieldOf(object, "doubleValue");
    if (double !== undefined) return typeof double === "object" ? null : Number(double); // "NaN" and "Infinity" are texts
    const list = fieldOf(object, "arrayValue");
    if (list !== undefined) return this.#listOf(objectOf(list, "arrayValue").values, depth + 1);
    const map = fieldOf(object, "kvlistValue");
    if (map !== undefined) return this.#mapOf(objectOf(map, "kvlistValue").values, depth + 1);
    return fieldOf(object, "bytesValue") === undefined ? null : undefined;
  }

  #listOf(list: unknown, depth: number): AttributeValue {
    if (depth > MAX_DEPTH) return null;
    const values: AttributeValue[] = [];
    for (const value of Array.isArray(list) ? list : []) {
      if (--this.left < 0) break;
      values.push(this.valueOf(value, depth) ?? null);
    }
    return values;
  }

  #mapOf(list: unknown, depth: number): AttributeValue {
    if (depth > MAX_DEPTH) return null;
    // Without a prototype, also the name __proto__ is one of a member.
    const map = Object.create(null) as Record<string, AttributeValue>;
    this.#readInto({ set: (name, value) => map[name] = value }, list, depth);
    return map;
  }
}

/** Returns an integer, beyond 2^53 as a bigint; NaN for what is none. */
function toInteger(value: unknown): number | bigint {
  if (typeof value !== "string" || !/^[+-]?\d{1,20}$/.test(value.trim())) {
    return typeof value === "number" ? value : NaN;
  }
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value.trim().replace("+", ""));
}
