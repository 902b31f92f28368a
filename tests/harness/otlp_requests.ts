import { FIXTURE_AT } from "../fixtures/providers/mod.ts";

/* Requests of OTLP as JSON of the protocol, whose spans follow the conventions. */

export const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
export const count = (key: string, value: number | string) => ({ key, value: { intValue: String(value) } });

/** The facts of a span that is a call, where they matter to a test. */
interface CallFacts {
  at?: number;
  agent?: string;
  session?: string;
  input?: number | string;
  output?: number | string;
  attributes?: object[];
}

/** A span that is a call; `name` tells spans apart: 1 to 15 hex digits. */
export function callSpan(
  name: string,
  { at = FIXTURE_AT - 60_000, agent, session, input = 1_000, output = 20, attributes = [] }: CallFacts = {},
): object {
  return {
    traceId: `a${name.padStart(31, "0")}`,
    spanId: `b${name.padStart(15, "0")}`,
    name: "chat priced",
    kind: 3,
    startTimeUnixNano: `${at}000000`,
    endTimeUnixNano: `${at + 1_000}000000`,
    attributes: [
      text("gen_ai.operation.name", "chat"),
      text("gen_ai.provider.name", "local"),
      text("gen_ai.request.model", "priced"),
      text("gen_ai.response.id", `resp_c${name.padStart(15, "0")}`),
      count("gen_ai.usage.input_tokens", input),
      count("gen_ai.usage.output_tokens", output),
      ...agent === undefined ? [] : [text("gen_ai.agent.name", agent)],
      ...session === undefined ? [] : [text("gen_ai.conversation.id", session)],
      ...attributes,
    ],
  };
}

/** A request with the spans of one program. */
export const spansOf = (spans: readonly object[], service = "shop") => ({
  resourceSpans: [{
    resource: { attributes: [text("service.name", service)] },
    scopeSpans: [{ scope: { name: "opentelemetry.instrumentation.genai", version: "1.0" }, spans }],
  }],
});
