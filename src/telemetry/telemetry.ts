import type { MetricName } from "./metrics.ts";

/** Facts of a span or a measurement; undefined is left out. Never a prompt, an answer, an argument or a secret. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;
export type AttributeValue = string | number | boolean | readonly string[];

/** Something that begins and ends. */
export interface Span {
  set(attributes: Attributes): void;
  /** Runs the work inside: what begins in it is beneath this span. */
  run<T>(work: () => T): T;
  /** Ends it, as failed where the kind of a failure is given. Only the first end counts. */
  end(errorType?: string): void;
}

/** A span to start. */
export interface SpanStart {
  name: string;
  /** `client`: it waits for somebody else's answer. */
  kind: "internal" | "client";
  attributes: Attributes;
  /** What it is beneath; default: what is being worked on. `null`: nothing. */
  parent?: Span | null;
  /** The histogram that its duration goes into, in seconds. */
  durationMetric: MetricName;
}

/** The port to whatever collects spans and measurements. It never throws. */
export interface Telemetry {
  /** Whether anybody collects; who would have to gather facts asks first. */
  readonly isOn: boolean;
  startSpan(start: SpanStart): Span;
  /** Adds to a histogram; of the attributes, those that are dimensions of the metric are taken. */
  record(metric: MetricName, value: number, attributes: Attributes): void;
  /** Remembers the span that the server has made for a request; called while that is being worked on. */
  heedRequest(request: Request): void;
  /** Names a heeded request's span by its route, as `/agents/{agent_id}`. */
  nameRequest(request: Request, route: string): void;
}

const noSpan: Span = { set() {}, run: (work) => work(), end() {} };

/** Collects nothing: the default. */
export const noTelemetry: Telemetry = {
  isOn: false,
  startSpan: () => noSpan,
  record() {},
  heedRequest() {},
  nameRequest() {},
};
