import type { MetricName } from "./metrics.ts";
import { PurserError } from "../kernel/errors.ts";
import type { Clock } from "../kernel/clock.ts";

/** Attributes of a span or a metric; undefined ones are omitted. Never a prompt, an answer, an argument or a secret. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;
export type AttributeValue = string | number | boolean | readonly string[];

/** A span of a trace. */
export interface Span {
  set(attributes: Attributes): void;
  /** Runs the work with this span as the parent of new spans. */
  run<T>(work: () => T): T;
  /** Ends the span, as failed if an error type is given. Only the first call counts. */
  end(errorType?: string): void;
}

/** A span to start. */
export interface SpanStart {
  name: string;
  /** `client`: a call of another service. */
  kind: "internal" | "client";
  attributes: Attributes;
  /** The parent span; default: the active one. `null`: none. */
  parent?: Span | null;
  /** The histogram of its duration, in seconds. */
  durationMetric: MetricName;
}

/** The port to the collector of spans and metrics. It never throws. */
export interface Telemetry {
  /** True if there is a collector; check it before gathering attributes. */
  readonly isOn: boolean;
  startSpan(start: SpanStart): Span;
  /** Adds to a histogram, with the attributes that are dimensions of the metric. */
  record(metric: MetricName, value: number, attributes: Attributes): void;
  /**
   * Answers a request within its span: that of the platform's server if it has started one, else a new one, which continues
   * the caller's trace.
   */
  traceRequest(request: Request, answer: () => Promise<Response>): Promise<Response>;
  /** Names the span of a request by its route, such as `/agents/{agent_id}`. */
  nameRequest(request: Request, route: string): void;
}

const noSpan: Span = { set() {}, run: (work) => work(), end() {} };

/** Telemetry without a collector, the default. */
export const noTelemetry: Telemetry = {
  isOn: false,
  startSpan: () => noSpan,
  record() {},
  traceRequest: (_request, answer) => answer(),
  nameRequest() {},
};

/** Returns the `error.type` of a failure: a code, a provider's status or an error's name, and never its message. */
export function errorTypeOf(error: unknown): string {
  if (error instanceof PurserError) return error.code;
  const { lastError, statusCode, name } = (error ?? {}) as Record<string, unknown>;
  if (lastError !== undefined) return errorTypeOf(lastError);
  if (typeof statusCode === "number") return String(statusCode);
  return typeof name === "string" && /^\w{1,64}$/.test(name) ? name : "_OTHER";
}

/** The key under which OpenTelemetry implementations for JavaScript register themselves; Deno's does with `OTEL_DENO=true`. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * Returns the telemetry of this process: OpenTelemetry if an implementation is registered, else none. Without one, nothing is
 * loaded, so that short commands start faster. Names and attributes are passed through `scrub`.
 */
export async function findTelemetry(
  clock: Pick<Clock, "monotonic">,
  scrub?: (text: string) => string,
): Promise<Telemetry> {
  if (!(REGISTRY in globalThis)) return noTelemetry;
  const { createOpenTelemetry } = await import("./open_telemetry.ts");
  return createOpenTelemetry(clock, scrub);
}
