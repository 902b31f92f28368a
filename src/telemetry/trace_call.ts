import { type NanoUsd, toUsd } from "../kernel/money.ts";
import { type Attributes, errorTypeOf, type Span, type Telemetry } from "./telemetry.ts";
import { agentAttributes, providerName, type TokenCounts, usageAttributes } from "./gen_ai.ts";

/** The facts of a model call for its span. */
export interface CallFacts {
  agentId: string;
  sessionId: string | null;
  runId: string;
  provider: string;
  model: string;
  isStreamed: boolean;
  settings: CallSettings;
  /** The span of its run, if there is one. */
  parent?: Span;
}

/** The settings of a call that its span has. */
export interface CallSettings {
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  seed?: number;
}

/** The facts of a booked call. */
export interface BookedFacts {
  callId: string;
  step: number | null;
  usage: TokenCounts;
  costNanoUsd: NanoUsd | null;
  priceSource: string;
  isEstimated: boolean;
}

/** The metadata of a provider's answer. */
export interface ResponseFacts {
  finishReason: string;
  responseId?: string;
  responseModel?: string;
  /** Set for an incomplete answer. */
  errorType?: string;
}

/** The span of a model call. */
export interface CallTrace {
  run<T>(work: () => T): T;
  booked(call: BookedFacts, response: ResponseFacts): void;
  failed(error: unknown): void;
}

const noTrace: CallTrace = { run: (work) => work(), booked() {}, failed() {} };

/** Starts the span of a model call: `chat {model}`. */
export function traceCall(telemetry: Telemetry, facts: CallFacts): CallTrace {
  if (!telemetry.isOn) return noTrace;
  const names = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": providerName(facts.provider),
    "gen_ai.request.model": facts.model,
  };
  const span = telemetry.startSpan({
    name: `chat ${facts.model}`,
    kind: "client",
    durationMetric: "gen_ai.client.operation.duration",
    parent: facts.parent,
    attributes: {
      ...names,
      ...agentAttributes(facts),
      ...settingAttributes(facts.settings),
      "gen_ai.request.stream": facts.isStreamed || undefined,
    },
  });
  return {
    run: span.run,
    booked(call, response) {
      const { usage, costNanoUsd } = call;
      const model = { "gen_ai.response.model": response.responseModel };
      span.set({
        ...model,
        ...usageAttributes(usage),
        "gen_ai.response.id": response.responseId,
        "gen_ai.response.finish_reasons": [response.finishReason],
        "purser.call.id": call.callId,
        "purser.call.step": call.step ?? undefined,
        "purser.cost_usd": costNanoUsd === null ? undefined : toUsd(costNanoUsd),
        "purser.price_source": call.priceSource,
        "purser.usage_estimated": call.isEstimated || undefined,
      });
      span.end(response.errorType);
      if (call.isEstimated) return; // by the conventions, this metric has counted tokens only
      const attributes = { ...names, ...model };
      for (const [type, tokens] of [["input", usage.inputTokens], ["output", usage.outputTokens]] as const) {
        telemetry.record("gen_ai.client.token.usage", tokens, { ...attributes, "gen_ai.token.type": type });
      }
    },
    failed: (error) => span.end(errorTypeOf(error)),
  };
}

function settingAttributes(settings: CallSettings): Attributes {
  return {
    "gen_ai.request.max_tokens": settings.maxOutputTokens,
    "gen_ai.request.temperature": settings.temperature,
    "gen_ai.request.top_p": settings.topP,
    "gen_ai.request.top_k": settings.topK,
    "gen_ai.request.frequency_penalty": settings.frequencyPenalty,
    "gen_ai.request.presence_penalty": settings.presencePenalty,
    "gen_ai.request.seed": settings.seed,
  };
}
