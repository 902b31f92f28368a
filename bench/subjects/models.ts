import type { LanguageModelV4, LanguageModelV4GenerateResult } from "@ai-sdk/provider";

/** Prices of the models that answer at once, for `openPurser`. */
export const PRICES = ["instant", "loop", "once"].map((model) => ({
  provider: "bench",
  model,
  input_usd_per_million: 1,
  output_usd_per_million: 2,
}));

const USAGE = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

/** Creates a model that answers from memory: it calls a tool in every step but each `steps`th. */
export function instantModel(steps: number): LanguageModelV4 {
  let calls = 0;
  const doGenerate = (): Promise<LanguageModelV4GenerateResult> => {
    const isLast = ++calls % steps === 0;
    return Promise.resolve({
      content: isLast
        ? [{ type: "text", text: "42" }]
        : [{ type: "tool-call", toolCallId: `call_${calls}`, toolName: "answer", input: "{}" }],
      finishReason: { unified: isLast ? "stop" : "tool-calls", raw: undefined },
      usage: USAGE,
      warnings: [],
    });
  };
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "instant",
    supportedUrls: {},
    doGenerate,
    doStream: () => Promise.reject(new Error("not measured")),
  };
}
