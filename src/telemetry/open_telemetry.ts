import * as api from "@opentelemetry/api";
import type { Clock } from "../kernel/clock.ts";
import { VERSION } from "../kernel/version.ts";
import { type MetricName, METRICS } from "./metrics.ts";
import { type Attributes, noTelemetry, type Span, type SpanStart, type Telemetry } from "./telemetry.ts";

const KINDS = { internal: api.SpanKind.INTERNAL, client: api.SpanKind.CLIENT };

/** The context key that marks work inside a span of Purser. */
const INSIDE = api.createContextKey("purser.inside");

/** Creates telemetry over the OpenTelemetry implementation that is registered in this process. */
export function createOpenTelemetry(
  clock: Pick<Clock, "monotonic">,
  scrub: (text: string) => string = (text) => text,
): Telemetry {
  const tracer = api.trace.getTracer("purser", VERSION);
  const meter = api.metrics.getMeter("purser", VERSION);
  safely(() => hideUrls(tracer, () => api.context.active().getValue(INSIDE) === true));
  const histograms = new Map<MetricName, api.Histogram>();
  const spans = new WeakMap<Span, api.Span>();
  const requests = new WeakMap<Request, api.Span>();
  const routes = new WeakMap<Request, string>();

  const defined = (attributes: Attributes): api.Attributes => {
    const kept = Object.entries(attributes).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, scrubAttribute(value, scrub)] as const]
    );
    return Object.fromEntries(kept) as api.Attributes;
  };
  const pick = (attributes: Attributes, names: readonly string[]): api.Attributes =>
    defined(Object.fromEntries(names.map((name) => [name, attributes[name]])));

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
    const collected: Record<string, Attributes[string]> = { ...attributes };
    const options = { kind: KINDS[kind], attributes: defined(attributes), root: parent === null };
    const inner = safely(() => {
      const above = parent && spans.get(parent);
      return above
        ? tracer.startSpan(scrub(name), options, api.trace.setSpan(api.context.active(), above))
        : tracer.startSpan(scrub(name), options);
    });
    if (!inner) return noTelemetry.startSpan({ name, kind, attributes, durationMetric });
    let hasEnded = false;
    const span: Span = {
      set(more) {
        Object.assign(collected, more);
        safely(() => inner.setAttributes(defined(more)));
      },
      run: (work) =>
        api.context.with(api.trace.setSpan(api.context.active(), inner).setValue(INSIDE, true), work),
      end(errorType) {
        if (hasEnded) return;
        hasEnded = true;
        if (errorType !== undefined) {
          span.set({ "error.type": errorType });
          // Without a message, which may include prompts or secret addresses.
          safely(() => inner.setStatus({ code: api.SpanStatusCode.ERROR }));
        }
        safely(() => inner.end());
        record(durationMetric, (clock.monotonic() - startedAt) / 1_000, collected);
      },
    };
    spans.set(span, inner);
    return span;
  }

  return {
    isOn: true,
    startSpan,
    record,
    async traceRequest(request, answer) {
      const active = safely(() => api.trace.getActiveSpan());
      if (active) {
        requests.set(request, active);
        return await answer();
      }
      const startedAt = clock.monotonic();
      const span = safely(() => startRequestSpan(tracer, request, defined));
      if (!span) return await answer();
      requests.set(request, span);
      const response = await api.context.with(api.trace.setSpan(api.context.active(), span), answer);
      const outcome: Attributes = {
        "http.request.method": request.method,
        "http.response.status_code": response.status,
        "http.route": routes.get(request),
        "error.type": response.status >= 500 ? String(response.status) : undefined,
        "url.scheme": "http",
      };
      safely(() => {
        span.setAttributes(defined(outcome));
        if (response.status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR });
        span.end();
      });
      record("http.server.request.duration", (clock.monotonic() - startedAt) / 1_000, outcome);
      return response;
    },
    nameRequest(request, route) {
      routes.set(request, route);
      // Deno also uses the route in its own metrics of requests.
      safely(() =>
        requests.get(request)?.setAttribute("http.route", route).updateName(`${request.method} ${route}`)
      );
    },
  };
}

/** Starts the span of a request by the conventions for HTTP servers, in the trace that its `traceparent` names. */
function startRequestSpan(
  tracer: api.Tracer,
  { method, url, headers }: Request,
  defined: (attributes: Attributes) => api.Attributes,
): api.Span {
  const { hostname, port, pathname, search } = new URL(url);
  const attributes = defined({
    "http.request.method": method,
    "url.scheme": "http",
    "url.path": hideKeysIn(pathname),
    "url.query": search === "" ? undefined : hideKeysIn(search.slice(1)),
    "server.address": hostname,
    "server.port": port === "" ? undefined : Number(port),
    "user_agent.original": headers.get("user-agent") ?? undefined,
  });
  const parent = api.propagation.extract(api.context.active(), headers, {
    get: (carrier, key) => carrier.get(key) ?? undefined,
    keys: (carrier) => [...carrier.keys()],
  });
  return tracer.startSpan(method, { kind: api.SpanKind.SERVER, attributes }, parent);
}

/** Calls the implementation. Its errors must not affect the traced work. */
function safely<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

function scrubAttribute(value: Attributes[string], scrub: (text: string) => string): Attributes[string] {
  if (typeof value === "string") return scrub(value);
  return Array.isArray(value) ? value.map((item) => typeof item === "string" ? scrub(item) : item) : value;
}

type AnyFunction = (...values: unknown[]) => unknown;

/** Prototypes that have been changed already; the cores of a process share them. */
const changed = new WeakSet<object>();

/** API keys of Purser, anywhere in a text. */
const API_KEYS = /psr_[0-9a-z]{26}_[0-9a-z]{39}/gi;

/**
 * Redacts URLs in the spans that Deno starts itself while `isInside`. They are secret, as the URL of a Slack webhook, or
 * include arguments of a tool. Only the origin is kept: `https://hooks.slack.com`. Elsewhere only API keys are redacted, which
 * a client may put into a URL by mistake. Spans of other implementations are unchanged.
 */
export function hideUrls(tracer: api.Tracer, isInside: () => boolean): void {
  if (!("Deno" in globalThis)) return;
  const prototype = Object.getPrototypeOf(tracer.startSpan("never ended, so never exported"));
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
      const redacted = isInside() ? { ...status, message: hideUrlsIn(status.message) } : status;
      return setStatus!.call(this, redacted);
    },
  });
}

function hideKeysIn<T>(value: T): T | string {
  return typeof value === "string" ? value.replace(API_KEYS, "psr_…") : value;
}

/** Shortens every URL in a text to its origin. */
export function hideUrlsIn<T>(value: T): T | string {
  if (typeof value !== "string") return value;
  return value.replace(
    /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi,
    (url) => URL.canParse(url) ? new URL(url).origin : "…",
  );
}
