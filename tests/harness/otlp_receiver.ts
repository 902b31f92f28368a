/** The value of an attribute in OTLP's JSON. */
interface AnyValue {
  stringValue?: string;
  intValue?: string | number;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: AnyValue[] };
}

interface KeyValue {
  key: string;
  value: AnyValue;
}

/** An exported span. */
export interface ExportedSpan {
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  attributes: Record<string, unknown>;
  /** True if its status is an error. */
  isError: boolean;
  /** The instrumentation that created it: `purser`, or `deno` itself. */
  scope: string;
}

/** One series of a histogram. */
export interface ExportedSeries {
  metric: string;
  unit: string;
  count: number;
  sum: number;
  bounds: number[];
  attributes: Record<string, unknown>;
}

/** A collector on 127.0.0.1 that accepts OTLP over HTTP as JSON, and keeps it. */
export interface OtlpReceiver extends AsyncDisposable {
  /** The environment of a process that exports to it. */
  env: Record<string, string>;
  readonly spans: ExportedSpan[];
  /** The latest value of every series. */
  series(metric: string): ExportedSeries[];
  /** Everything received, as text. */
  text(): string;
  /** The only span with this name that meets the condition. */
  span(name: string, where?: (span: ExportedSpan) => boolean): ExportedSpan;
}

export function startOtlpReceiver(): OtlpReceiver {
  const bodies: string[] = [];
  const spans: ExportedSpan[] = [];
  const series = new Map<string, ExportedSeries>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const body = await request.text();
    bodies.push(body);
    const { resourceSpans = [], resourceMetrics = [] } = JSON.parse(body);
    spans.push(...resourceSpans.flatMap(readSpans));
    for (const each of resourceMetrics.flatMap(readSeries)) {
      series.set(JSON.stringify([each.metric, each.attributes]), each);
    }
    return Response.json({});
  });
  return {
    env: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    },
    spans,
    series: (metric) => [...series.values()].filter((each) => each.metric === metric),
    text: () => bodies.join("\n"),
    span(name, where = () => true) {
      const found = spans.filter((span) => span.name === name && where(span));
      if (found.length === 1) return found[0]!;
      const names = spans.map((span) => span.name).join(", ");
      throw new Error(`${found.length} spans are called ${name} among ${names}`);
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

interface ResourceSpans {
  scopeSpans: {
    scope: { name: string };
    spans:
      (Omit<ExportedSpan, "attributes" | "scope"> & { attributes: KeyValue[]; status: { code: number } })[];
  }[];
}

function readSpans({ scopeSpans }: ResourceSpans): ExportedSpan[] {
  return scopeSpans.flatMap(({ scope, spans }) =>
    spans.map(({ name, kind, traceId, spanId, parentSpanId, attributes, status }) => ({
      ...{ name, kind, traceId, spanId, parentSpanId },
      attributes: readAttributes(attributes),
      isError: status.code === 2,
      scope: scope.name,
    }))
  );
}

interface ResourceMetrics {
  scopeMetrics: {
    metrics: {
      name: string;
      unit: string;
      histogram?: {
        dataPoints: { attributes: KeyValue[]; count: string; sum: number; explicitBounds: number[] }[];
      };
    }[];
  }[];
}

function readSeries({ scopeMetrics }: ResourceMetrics): ExportedSeries[] {
  return scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ name, unit, histogram }) =>
      (histogram?.dataPoints ?? []).map(({ attributes, count, sum, explicitBounds }) => ({
        metric: name,
        unit,
        count: Number(count),
        sum,
        bounds: explicitBounds,
        attributes: readAttributes(attributes),
      }))
    )
  );
}

function readAttributes(attributes: readonly KeyValue[]): Record<string, unknown> {
  const sorted = [...attributes].sort((a, b) => a.key < b.key ? -1 : 1);
  return Object.fromEntries(sorted.map(({ key, value }) => [key, readValue(value)]));
}

function readValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: AnyValue): unknown {
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? doubleValue ?? boolValue ?? arrayValue?.values.map(readValue);
}
