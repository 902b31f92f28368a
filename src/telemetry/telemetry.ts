import type { MetricName } from "./metrics.ts";
import { PurserError } from "../kernel/errors.ts";
import type { Clock } from "../kernel/clock.ts";

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
  trackRequest(request: Request): void;
  /** Names a heeded request's span by its route, as `/agents/{agent_id}`. */
  nameRequest(request: Request, route: string): void;
}

const noSpan: Span = { set() {}, run: (work) => work(), end() {} };

/** Collects nothing: the default. */
export const noTelemetry: Telemetry = {
  isOn: false,
  startSpan: () => noSpan,
  record() {},
  trackRequest() {},
  nameRequest() {},
};

/**
 * The kind of a failure as `error.type` tells it: Purser's code, a provider's status, or the name of an error. Never its
 * message.
 */
export function errorTypeOf(error: unknown): string {
  if (error instanceof PurserError) return error.code;
  const { lastError, statusCode, name } = (error ?? {}) as Record<string, unknown>;
  if (lastError !== undefined) return errorTypeOf(lastError);
  if (typeof statusCode === "number") return String(statusCode);
  return typeof name === "string" && /^\w{1,64}$/.test(name) ? name : "_OTHER";
}

/** Where every OpenTelemetry implementation for JavaScript registers itself; Deno's does with `OTEL_DENO=true`. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * The telemetry of this process: OpenTelemetry where an implementation has been registered before, else none. Without
 * one nothing is loaded, so that short commands don't pay for it.
 */
export async function findTelemetry(clock: Pick<Clock, "monotonic">): Promise<Telemetry> {
  if (!(REGISTRY in globalThis)) return noTelemetry;
  const { createOpenTelemetry } = await import("./open_telemetry.ts");
  return createOpenTelemetry(clock);
}
