import { toConventionName } from "../contract/costs/provider_names.ts";
import { type NanoUsd, toUsd } from "../kernel/money.ts";
import { type Attributes, errorTypeOf, type Span, type Telemetry } from "./telemetry.ts";

/** Telemetry: spans and metrics by the OpenTelemetry conventions. */
export {
  type AttributeValue,
  errorTypeOf,
  findTelemetry,
  noTelemetry,
  type Span,
  type Telemetry,
} from "./telemetry.ts";

/** Normalized token counts: input includes cache reads and writes, output includes the reasoning. */
interface TokenCounts {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

/** Returns the attributes of the agent, session and run of a span. The id of an agent is its name. */
function agentAttributes(
  { agentId, sessionId, runId }: { agentId: string; sessionId: string | null; runId: string | null },
): Attributes {
  return {
    "gen_ai.agent.id": agentId,
    "gen_ai.agent.name": agentId,
    "gen_ai.conversation.id": sessionId ?? undefined,
    "purser.run.id": runId ?? undefined,
  };
}

/** Returns the attributes of the token usage; parts that are 0 are omitted. */
function usageAttributes(usage: TokenCounts): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens || undefined,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens || undefined,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens || undefined,
  };
}

/** The facts of a run for its span. */
interface RunFacts {
  agentId: string;
  sessionId: string;
  runId: string;
  provider: string;
  model: string;
  budgetNanoUsd: NanoUsd | null;
}

/** The span of a run. */
export interface RunTrace {
  span: Span;
  /** Runs the whole run inside the span, which ends with it. */
  run<T extends { status: string }>(work: () => Promise<T>): Promise<T>;
  /** Adds a call that was booked. */
  add(call: { usage: TokenCounts; costNanoUsd: NanoUsd | null }): void;
}

/** Starts the span of a run: `invoke_agent {agent}`. */
export function traceRun(telemetry: Telemetry, facts: RunFacts): RunTrace {
  const span = telemetry.startSpan({
    name: `invoke_agent ${facts.agentId}`,
    kind: "internal",
    durationMetric: "gen_ai.invoke_agent.duration",
    attributes: telemetry.isOn ? startAttributes(facts) : {},
  });
  const counted = {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
  let costNanoUsd = 0n;
  let steps = 0;
  const end = (status: string, errorType?: string) => {
    if (!telemetry.isOn) return;
    span.set({
      ...usageAttributes(counted),
      "purser.run.status": status,
      "purser.run.steps": steps,
      "purser.cost_usd": toUsd(costNanoUsd),
    });
    span.end(errorType);
  };
  return {
    span,
    async run(work) {
      try {
        const result = await span.run(work);
        end(result.status);
        return result;
      } catch (error) {
        const errorType = errorTypeOf(error);
        end(errorType === "budget_exceeded" ? errorType : "failed", errorType);
        throw error;
      }
    },
    add({ usage, ...call }) {
      steps++;
      costNanoUsd += call.costNanoUsd ?? 0n;
      for (const kind of Object.keys(counted) as (keyof typeof counted)[]) counted[kind] += usage[kind];
    },
  };
}

function startAttributes({ agentId, sessionId, runId, provider, model, budgetNanoUsd }: RunFacts) {
  return {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.provider.name": toConventionName(provider),
    "gen_ai.request.model": model,
    ...agentAttributes({ agentId, sessionId, runId }),
    "purser.budget_usd": budgetNanoUsd === null ? undefined : toUsd(budgetNanoUsd),
  };
}

/** The facts of one execution of a tool, for its span. */
interface ToolFacts {
  agentId: string;
  sessionId: string;
  runId: string;
  toolName: string;
  toolCallId: string;
  parent: Span;
}

/** Starts the span of a tool's execution, `execute_tool {tool}`, which has neither arguments nor results. */
export function traceTool(telemetry: Telemetry, { toolName, toolCallId, parent, ...run }: ToolFacts): Span {
  return telemetry.startSpan({
    name: `execute_tool ${toolName}`,
    kind: "internal",
    durationMetric: "gen_ai.execute_tool.duration",
    parent,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": toolName,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": toolCallId,
      ...agentAttributes(run),
    },
  });
}

/** The facts of a model call for its span. */
interface CallFacts {
  agentId: string;
  sessionId: string | null;
  runId: string | null;
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
interface BookedFacts {
  callId: string;
  step: number | null;
  usage: TokenCounts;
  costNanoUsd: NanoUsd | null;
  priceSource: string;
  isEstimated: boolean;
}

/** The metadata of a provider's answer. */
interface ResponseFacts {
  finishReason?: string;
  responseId?: string;
  responseModel?: string;
  /** Set for an incomplete answer. */
  errorType?: string;
}

/** The span of a model call. */
interface CallTrace {
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
    "gen_ai.provider.name": toConventionName(facts.provider),
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
        "gen_ai.response.finish_reasons": response.finishReason === undefined
          ? undefined
          : [response.finishReason],
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

/** The facts of one attempt to deliver a notification, for its span. */
interface DeliveryFacts {
  channel: string;
  kind: string;
  deliveryId: string;
  /** The id of the alert or anomaly; undefined for a test of a channel. */
  subjectId?: string;
  attempt: number;
  /** True for an attempt of a request, such as a test; false for the dispatcher's. */
  isInRequest?: boolean;
}

/** The result of an attempt; `retry` if it has failed and may be retried. */
type AttemptResult = { ok: true } | { ok: false; retry: boolean };

/** Makes an attempt inside a span `deliver {kind}`, which has neither the message nor the address. */
export async function traceDelivery<T extends AttemptResult>(
  telemetry: Telemetry,
  facts: DeliveryFacts,
  attempt: () => Promise<T>,
): Promise<T> {
  if (!telemetry.isOn) return await attempt();
  const span = telemetry.startSpan({
    name: `deliver ${facts.kind}`,
    kind: "client",
    durationMetric: "purser.delivery.duration",
    parent: facts.isInRequest ? undefined : null,
    attributes: {
      "purser.channel.name": facts.channel,
      "purser.channel.kind": facts.kind,
      "purser.delivery.id": facts.deliveryId,
      "purser.delivery.attempt": facts.attempt,
      "purser.delivery.subject_id": facts.subjectId,
    },
  });
  const result = await span.run(attempt);
  span.set({ "purser.delivery.outcome": result.ok ? "delivered" : "not_delivered" });
  span.end(result.ok ? undefined : result.retry ? "passing" : "permanent");
  return result;
}
