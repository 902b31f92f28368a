/** A histogram: its unit, description, bucket bounds and dimensions. */
export interface Metric {
  unit: string;
  description: string;
  bounds: readonly number[];
  dimensions: readonly string[];
}

/** From 10 ms, doubling: the buckets that the conventions advise for calls of models and tools. */
const CALL_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

const CALL_DIMENSIONS = [
  "gen_ai.operation.name",
  "gen_ai.provider.name",
  "gen_ai.request.model",
  "gen_ai.response.model",
];

/**
 * All histograms. Names, units, buckets and dimensions of `gen_ai.*` follow the OpenTelemetry semantic conventions for
 * generative AI (gen-ai-metrics.md).
 */
export const METRICS = {
  "gen_ai.client.token.usage": {
    unit: "{token}",
    description: "Number of input and output tokens used.",
    bounds: Array.from({ length: 14 }, (_, power) => 4 ** power),
    dimensions: [...CALL_DIMENSIONS, "gen_ai.token.type"],
  },
  "gen_ai.client.operation.duration": {
    unit: "s",
    description: "GenAI operation duration.",
    bounds: CALL_SECONDS,
    dimensions: [...CALL_DIMENSIONS, "error.type"],
  },
  "gen_ai.invoke_agent.duration": {
    unit: "s",
    description: "Duration of a run of an agent.",
    bounds: Array.from({ length: 13 }, (_, power) => 2 ** power / 10),
    dimensions: ["gen_ai.agent.name", "gen_ai.request.model", "error.type"],
  },
  "gen_ai.execute_tool.duration": {
    unit: "s",
    description: "Duration of a single tool execution.",
    bounds: CALL_SECONDS,
    dimensions: ["gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.agent.name", "error.type"],
  },
  "http.server.request.duration": {
    unit: "s",
    description: "Duration of HTTP server requests.",
    bounds: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    dimensions: [
      "http.request.method",
      "http.response.status_code",
      "http.route",
      "error.type",
      "url.scheme",
    ],
  },
  "purser.delivery.duration": {
    unit: "s",
    description: "Duration of one attempt to deliver a notification.",
    bounds: CALL_SECONDS,
    dimensions: ["purser.channel.name", "purser.channel.kind", "purser.delivery.outcome", "error.type"],
  },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
