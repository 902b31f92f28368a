import { AsyncLocalStorage } from "node:async_hooks";
import type { AttributeValue, Span, Telemetry } from "../../src/telemetry/mod.ts";

/** A recorded span. */
export interface RecordedSpan {
  name: string;
  /** Its parent span. */
  above: RecordedSpan | null;
  attributes: Record<string, AttributeValue | undefined>;
  hasEnded: boolean;
  errorType?: string;
}

/** Telemetry in memory, with the parents of spans as OpenTelemetry would have them. */
export interface RecordingTelemetry extends Telemetry {
  spans: RecordedSpan[];
  records: { metric: string; value: number; attributes: Record<string, unknown> }[];
  /** The only span with this name. */
  span(name: string): RecordedSpan;
}

export function recordingTelemetry(): RecordingTelemetry {
  const active = new AsyncLocalStorage<RecordedSpan>();
  const recorded = new WeakMap<Span, RecordedSpan>();
  const spans: RecordedSpan[] = [];
  const records: RecordingTelemetry["records"] = [];
  return {
    isOn: true,
    spans,
    records,
    span(name) {
      const found = spans.filter((span) => span.name === name);
      if (found.length !== 1) {
        throw new Error(`${found.length} of ${spans.map((span) => span.name).join(", ")}`);
      }
      return found[0]!;
    },
    startSpan({ name, attributes, parent }) {
      const above = parent === undefined ? active.getStore() : parent && recorded.get(parent);
      const record: RecordedSpan = {
        name,
        above: above ?? null,
        attributes: { ...attributes },
        hasEnded: false,
      };
      spans.push(record);
      const span: Span = {
        set: (more) => void Object.assign(record.attributes, more),
        run: (work) => active.run(record, work),
        end(errorType) {
          if (record.hasEnded) throw new Error(`${name} ended twice`);
          record.hasEnded = true;
          record.errorType = errorType;
        },
      };
      recorded.set(span, record);
      return span;
    },
    record: (metric, value, attributes) => void records.push({ metric, value, attributes }),
    traceRequest: (_request, answer) => answer(),
    nameRequest() {},
  };
}
