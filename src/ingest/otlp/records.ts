/*
 * The records of an export, decoded from protobuf or JSON to one form, as far as a call may be read of them. Bodies, events, links
 * and the attributes that no dialect reads are left out, and of long attributes, such as prompts and answers, the values.
 */

/** The value of an attribute. Integers beyond 2^53 are bigints; bytes are left out. */
export type AttributeValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly AttributeValue[]
  | { readonly [name: string]: AttributeValue };

/** Attributes by name; the last of several with one name counts. */
export type Attributes = ReadonlyMap<string, AttributeValue>;

/** The instrumentation that wrote a record. */
export interface InstrumentationScope {
  /** `''` without one. */
  name: string;
  version: string;
}

/** A span. Times are in milliseconds since the epoch, with their fraction; NaN for one that is missing or no time. */
export interface SpanRecord {
  signal: "span";
  resource: Attributes;
  scope: InstrumentationScope;
  /** 32 lower-case hex digits; `''` for one that is missing or invalid. */
  traceId: string;
  /** 16 lower-case hex digits; `''` for one that is missing or invalid. */
  spanId: string;
  /** `''` for a root. */
  parentSpanId: string;
  traceState: string;
  name: string;
  startsAt: number;
  endsAt: number;
  attributes: Attributes;
  hasFailed: boolean;
}

/** A log record. */
export interface LogRecord {
  signal: "log";
  resource: Attributes;
  scope: InstrumentationScope;
  /** `''` without one. */
  traceId: string;
  spanId: string;
  /** Its own name, else that of its attribute `event.name`, else `''`. */
  name: string;
  /** The time of the event, else that at which it was observed. */
  at: number;
  attributes: Attributes;
}

export type TelemetryRecord = SpanRecord | LogRecord;
