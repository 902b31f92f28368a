import * as api from "@opentelemetry/api";
import type { Clock } from "../kernel/clock.ts";
import { VERSION } from "../kernel/version.ts";
import { type MetricName, METRICS } from "./metrics.ts";
import { type Attributes, noTelemetry, type Span, type SpanStart, type Telemetry } from "./telemetry.ts";

const KINDS = { internal: api.SpanKind.INTERNAL, client: api.SpanKind.CLIENT };

/** Marks what is done inside a span of Purser's. */
const INSIDE = api.createContextKey("purser.inside");

/** Telemetry through the OpenTelemetry implementation that is registered in this process. */
export function createOpenTelemetry(clock: Pick<Clock, "monotonic">): Telemetry {
  const tracer = api.trace.getTracer("purser", VERSION);
  const meter = api.metrics.getMeter("purser", VERSION);
  safely(() => hideUrls(tracer, () => api.context.active().getValue(INSIDE) === true));
  const histograms = new Map<MetricName, api.Histogram>();
  const spans = new WeakMap<Span, api.Span>();
  const requests = new WeakMap<Request, api.Span>();

  function record(name: MetricName, value: number, attributes: Attributes): void {
    const { unit, description, bounds, dimensions } = METRICS[name];
    safely(() => {
      let histogram = histograms.get(name);
      if (!histogram) {
        const advice = { explicitBucketBoundaries: [...bounds] };
        histograms.set(name, histogram = meter.createHistogram(name, { unit, description, advice }));
      }
      histogram.record(value, pick(attributes, dimensions));
    });
  }

  function startSpan({ name, kind, attributes, parent, durationMetric }: SpanStart): Span {
    const startedAt = clock.monotonic();
    const facts: Record<string, Attributes[string]> = { ...attributes };
    const options = { kind: KINDS[kind], attributes: defined(attributes), root: parent === null };
    const inner = safely(() => {
      const above = parent && spans.get(parent);
      return above
        ? tracer.startSpan(name, options, api.trace.setSpan(api.context.active(), above))
        : tracer.startSpan(name, options);
    });
    if (!inner) return noTelemetry.startSpan({ name, kind, attributes, durationMetric });
    let hasEnded = false;
    const span: Span = {
      set(more) {
        Object.assign(facts, more);
        safely(() => inner.setAttributes(defined(more)));
      },
      run: (work) =>
        api.context.with(api.trace.setSpan(api.context.active(), inner).setValue(INSIDE, true), work),
      end(errorType) {
        if (hasEnded) return;
        hasEnded = true;
        if (errorType !== undefined) {
          span.set({ "error.type": errorType });
          // Without a message: what failed may tell of what was said to a model, or where a secret leads.
          safely(() => inner.setStatus({ code: api.SpanStatusCode.ERROR }));
        }
        safely(() => inner.end());
        record(durationMetric, (clock.monotonic() - startedAt) / 1_000, facts);
      },
    };
    spans.set(span, inner);
    return span;
  }

  return {
    isOn: true,
    startSpan,
    record,
    trackRequest(request) {
      const span = safely(() => api.trace.getActiveSpan());
      if (span) requests.set(request, span);
    },
    nameRequest(request, route) {
      // Deno takes the route over into its own metrics of requests.
      safely(() =>
        requests.get(request)?.setAttribute("http.route", route).updateName(`${request.method} ${route}`)
      );
    },
  };
}

/** Telemetry is an aside: whatever an implementation throws must not touch what it tells of. */
function safely<T>(tell: () => T): T | undefined {
  try {
    return tell();
  } catch {
    return undefined;
  }
}

function defined(attributes: Attributes): api.Attributes {
  const kept = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as api.Attributes;
}

function pick(attributes: Attributes, names: readonly string[]): api.Attributes {
  return defined(Object.fromEntries(names.map((name) => [name, attributes[name]])));
}

type AnyFunction = (...values: unknown[]) => unknown;

/** Prototypes that have been changed already: several cores of one process share them. */
const changed = new WeakSet<object>();

/** Keys to Purser's API, wherever they stand. */
const API_KEYS = /psr_[0-9a-z]{26}_[0-9a-z]{39}/gi;

/**
 * Keeps addresses of requests out of spans that Deno makes by itself while `isInside`. It would tell them whole, and
 * they are secret (a Slack webhook is nothing but its address) or made of a tool's arguments. What is told is the
 * origin: `https://hooks.slack.com`. Elsewhere only API keys are taken out, which a client may put into an address by
 * mistake. Where another implementation makes the spans, nothing changes.
 */
export function hideUrls(tracer: api.Tracer, isInside: () => boolean): void {
  if (!("Deno" in globalThis)) return;
  const prototype = Object.getPrototypeOf(tracer.startSpan("never ended, so never told"));
  if (changed.has(prototype)) return;
  changed.add(prototype);
  const { setAttribute, setStatus } = prototype as Record<string, AnyFunction>;
  Object.assign(prototype, {
    setAttribute(this: api.Span, key: string, value: unknown) {
      const isUrl = key === "url.path" || key === "url.query";
      if (!isInside()) return setAttribute!.call(this, key, hideKeysIn(value));
      return isUrl ? this : setAttribute!.call(this, key, hideUrlsIn(value));
    },
    setStatus(this: api.Span, status: api.SpanStatus) {
      const told = isInside() ? { ...status, message: hideUrlsIn(status.message) } : status;
      return setStatus!.call(this, told);
    },
  });
}

function hideKeysIn<T>(value: T): T | string {
  return typeof value === "string" ? value.replace(API_KEYS, "psr_…") : value;
}

/** A text with every address in it cut down to its origin. */
export function hideUrlsIn<T>(value: T): T | string {
  if (typeof value !== "string") return value;
  return value.replace(
    /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi,
    (url) => URL.canParse(url) ? new URL(url).origin : "…",
  );
}
