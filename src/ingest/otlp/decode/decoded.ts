import type { Attributes, InstrumentationScope, LogRecord, SpanRecord, TelemetryRecord } from "../records.ts";

/** The signals whose records are read, as the protocol's paths name them. */
export type Signal = "traces" | "logs";

/** The records of a request. */
export interface Decoded {
  records: TelemetryRecord[];
  /** The number of records beyond the first `MAX_RECORDS`, which are not decoded. */
  beyond: number;
}

/** The names of the attributes of records that are read. */
export type AttributeNames = Pick<ReadonlySet<string>, "has">;

/** The most records that are read of a request. */
export const MAX_RECORDS = 10_000;

/** The most values of attributes that are read of a record, of a resource and of a scope; the others are left out. */
export const MAX_VALUES = 10_000;

/** The most lists and maps within each other that are read of an attribute; deeper ones are null. */
export const MAX_DEPTH = 16;

/** The longest value of an attribute that is read, in bytes or characters, unless its fields are: others are contents. */
export const MAX_LENGTH = 4096;

/** The units of `Turns` of a record, a resource or a scope, besides its bytes or values. */
export const RECORD_UNITS = 200;

const NO_ATTRIBUTES: Attributes = new Map();

/** Returns a scope without a name. */
export const newScope = (): InstrumentationScope => ({ name: "", version: "" });

/** Returns a span of which nothing is known. */
export const newSpan = (resource: Attributes, scope: InstrumentationScope): SpanRecord => ({
  signal: "span",
  resource,
  scope,
  traceId: "",
  spanId: "",
  parentSpanId: "",
  traceState: "",
  name: "",
  startsAt: NaN,
  endsAt: NaN,
  attributes: NO_ATTRIBUTES,
  hasFailed: false,
});

/** Returns a log record of which nothing is known. */
export const newLog = (resource: Attributes, scope: InstrumentationScope): LogRecord => ({
  signal: "log",
  resource,
  scope,
  traceId: "",
  spanId: "",
  name: "",
  at: NaN,
  attributes: NO_ATTRIBUTES,
});

/** Sets the time and the name that a log record has by other fields than its own. */
export function completeLog(log: LogRecord, observedAt: number): LogRecord {
  if (Number.isNaN(log.at)) log.at = observedAt;
  const name = log.name === "" ? log.attributes.get("event.name") : undefined;
  if (typeof name === "string") log.name = name;
  return log;
}

/** Converts a time to milliseconds, exact to the microsecond; NaN for 0. Cut off, a less exact one may be in the millisecond before. */
export const msOfNanos = (nanos: number): number => Math.round(nanos / 1e3) / 1e3 || NaN;
