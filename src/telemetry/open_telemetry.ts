import * as api from "@opentelemetry/api";
import type { Clock } from "../kernel/clock.ts";
import { VERSION } from "../kernel/version.ts";
import { hideUrls } from "./hide_urls.ts";
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
    heedRequest(request) {
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
