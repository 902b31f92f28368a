import type { AttributeValue, LogRecord, SpanRecord } from "../../src/ingest/otlp/records.ts";

/* Records as the decoder makes them. */

export const RECORDED_AT = Date.UTC(2026, 10, 26, 12);

type Given<Of> = Partial<Omit<Of, "attributes" | "scope" | "resource">> & {
  attributes?: Record<string, AttributeValue>;
  scope?: string;
  service?: string;
};

const common = (scope: string, service: string, attributes: Record<string, AttributeValue>) => ({
  resource: new Map([["service.name", service]]),
  scope: { name: scope, version: "1.0" },
  attributes: new Map(Object.entries(attributes)),
});

/** A span by a short name, which is its id, within the span of another name. */
export function span(
  name: string,
  parent: string,
  { attributes = {}, scope = "gen_ai", service = "shop", ...more }: Given<SpanRecord> = {},
): SpanRecord {
  return {
    signal: "span",
    ...common(scope, service, attributes),
    traceId: "t".padStart(32, "0"),
    spanId: idOf(name),
    parentSpanId: parent === "" ? "" : idOf(parent),
    traceState: "",
    name,
    startsAt: RECORDED_AT,
    endsAt: RECORDED_AT + 1_000,
    hasFailed: false,
    ...more,
  };
}

export const idOf = (name: string): string =>
  [...name].map((letter) => letter.charCodeAt(0).toString(16)).join("").padStart(16, "0").slice(-16);

/** A span of a call by the conventions. */
export const call = (
  name: string,
  parent: string,
  input: number,
  output: number,
  more: Given<SpanRecord> = {},
) =>
  span(name, parent, {
    ...more,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "gpt-5-mini",
      "gen_ai.usage.input_tokens": input,
      "gen_ai.usage.output_tokens": output,
      ...more.attributes,
    },
  });

/** A span of an agent by the conventions. */
export const agent = (name: string, parent: string, attributes: Record<string, AttributeValue> = {}) =>
  span(name, parent, {
    attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, ...attributes },
  });

export function log(
  name: string,
  { attributes = {}, scope = "gen_ai", service = "shop", ...more }: Given<LogRecord> = {},
): LogRecord {
  return {
    signal: "log",
    ...common(scope, service, attributes),
    traceId: "",
    spanId: "",
    name,
    at: RECORDED_AT,
    ...more,
  };
}
