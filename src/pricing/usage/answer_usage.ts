import type { Served } from "../price_book.ts";
import { gatewayOf, type Statement } from "../stated/statement.ts";
import { iterationsOf, MODEL_NAME } from "./anthropic_usage.ts";
import { type ToolParts, trackTools } from "./answer_tools.ts";
import { type Asked, readAsked } from "./asked.ts";
import { count, type Fields, isFields } from "./fields.ts";
import { mergeUsage } from "./merge_usage.ts";
import { contextOf } from "./openai_usage.ts";
import { faultOfUsage, MAX_MODELS, type ModelUsage, type Usage, usageOf } from "./usage.ts";
import { type UsageApi, usageFromRaw } from "./usage_from_raw.ts";
import type { LanguageModelV4Usage } from "@ai-sdk/provider";

/** The facts that one answer has reported so far, whole or as the chunks of a stream. */
export interface AnswerUsage {
  /** Reads a whole body, or the next chunk as sent by the provider: the `rawValue` of the AI SDK's `raw` stream parts. */
  take(chunk: unknown): void;
  /** Takes the answer as complete: the counts that it has reported are final, also if nothing in it said so. */
  end(): void;
  /** Returns the usage so far; undefined before the first report. */
  usage(): Usage | undefined;
  /** Returns the usage as the provider has sent it last, for the log. */
  raw(): Fields | undefined;
  /** Returns true once the final usage has been reported, so that no estimate is needed. */
  isFinal(): boolean;
  /** Returns how the provider has served the call, as far as it has reported that. */
  served(): Served;
  /** Returns the parts of the answer that may state its cost. */
  statement(): Statement;
  /**
   * Returns the usage for a copy of it that the AI SDK has made, which lacks counts that a later report has erased, parts, and
   * the searches and tools that the answer has reported beside its usage.
   */
  withTools(usage: Usage): Usage;
}

/** The events of a response that has not ended. */
const BEGINNING = /^response\.(?:created|queued|in_progress)$/;

/** The choices of an answer, of which each ends by itself, while others may continue. */
class Choices {
  readonly #open = new Set<unknown>();
  #hasFinished = false;

  /** Takes the choices of a chunk; returns true if one has content. */
  take(choices: readonly unknown[]): boolean {
    let hasContent = false;
    for (const choice of choices.filter(isFields)) {
      const hasOwn = isContent(choice.delta ?? choice.message ?? choice.content);
      hasContent ||= hasOwn;
      const key = choice.index ?? 0;
      if (choice.finish_reason || choice.finishReason) {
        this.#open.delete(key);
        this.#hasFinished = true;
      } else if (hasOwn) this.#open.add(key);
    }
    return hasContent;
  }

  /** True once all that have begun have finished. */
  get areFinished(): boolean {
    return this.#hasFinished && this.#open.size === 0;
  }
}

/** The depth from which everything nested in an answer counts as content. */
const MAX_DEPTH = 8;

/** Returns true if there is text in a part of an answer, beside its role. */
function isContent(part: unknown, depth = 0): boolean {
  if (typeof part === "string") return part !== "";
  if (depth > MAX_DEPTH) return true;
  if (Array.isArray(part)) return part.some((each) => isContent(each, depth + 1));
  return isFields(part) &&
    Object.entries(part).some(([name, value]) => name !== "role" && isContent(value, depth + 1));
}

const askedNothing = () => readAsked([]);

/** Speeds, regions and their like that are billed at the standard rates. */
const STANDARD = new Set(["standard", "global", "not_available"]);

/**
 * Tracks the usage in an answer. The AI SDK reports it in its `finish` part, which a stream that breaks off never reaches,
 * even if the usage had already arrived. `provider` is the AI SDK model's `.provider`; the chunks have the provider's own form.
 * `readRequest` returns the wishes of the request, which decide where the answer says nothing; it is called once, if needed.
 */
export function trackAnswerUsage(
  provider: string,
  readRequest: () => Asked = askedNothing,
): AnswerUsage {
  let api: UsageApi | undefined;
  let raw: Fields | undefined;
  let isFinal = false;
  const choices = new Choices();
  const served: Served = {};
  let gateway: Fields | undefined;
  const tools = trackTools();
  let breakdown: readonly Fields[] = [];
  let known: Asked | undefined;
  const asked = () => known ??= readRequest();
  /** The usage of the chunks so far; read anew after each chunk. */
  let read: Usage | undefined;
  let isRead = false;

  function record(seenApi: UsageApi, usage: unknown, isLast: boolean): void {
    if (!isFields(usage)) return;
    const merged = raw && seenApi === api ? mergeUsage(raw, usage) : usage;
    // A report that can't be read doesn't replace one that could.
    if (raw && usageFromRaw(seenApi, merged) === undefined && usageFromRaw(api!, raw) !== undefined) return;
    api = seenApi;
    raw = merged;
    isFinal ||= isLast;
    recordServed(usage);
    const fallback = fallbackOf(usage);
    if (fallback !== undefined) served.model = fallback;
  }

  /** Records the usage of a chunk with choices: of all text so far, and final once each choice has finished. */
  function recordChoices(
    seenApi: UsageApi,
    list: readonly unknown[],
    usage: unknown,
    isEnd: boolean,
    hasError: boolean,
  ): void {
    if (choices.take(list)) isFinal = false;
    record(seenApi, usage, !hasError && (isEnd || choices.areFinished));
  }

  function recordServed({ service_tier, serviceTier, trafficType, speed, inference_geo }: Fields): void {
    const tier = service_tier ?? serviceTier ?? trafficType;
    if (typeof tier === "string" && tier !== "TRAFFIC_TYPE_UNSPECIFIED") served.serviceTier = tier;
    if (typeof speed === "string" && !STANDARD.has(speed)) served.speed = speed;
    if (typeof inference_geo === "string" && !STANDARD.has(inference_geo)) {
      served.inferenceGeo = inference_geo;
    }
  }

  /** Groq's systems are billed by the models that they have called. https://console.groq.com/docs/compound */
  function recordBreakdown({ usage_breakdown, x_groq }: Fields): void {
    const found = usage_breakdown ?? (isFields(x_groq) ? x_groq.usage_breakdown : undefined);
    if (!isFields(found) || !Array.isArray(found.models)) return;
    const models = found.models.filter(isFields);
    if (!isModel(models[0]?.model)) return;
    breakdown = models;
    served.model = models[0].model;
  }

  function readUsage(): Usage | undefined {
    if (!api || !raw) return undefined;
    const own = usageFromRaw(api, breakdown[0]?.usage ?? raw, asked);
    if (!own) return undefined;
    let usage = withParts(own, tools.parts(raw, asked));
    if (breakdown.length > 1) usage = withParts(usage, ofBreakdown(api));
    return provider.startsWith("perplexity") ? withParts(usage, ofPerplexity()) : usage;
  }

  /** The other models that Groq has called. */
  function ofBreakdown(api: UsageApi): ToolParts {
    const others = breakdown.slice(1);
    const models = others.slice(0, MAX_MODELS).flatMap(({ model, usage }): ModelUsage[] => {
      const own = usageFromRaw(api, usage, asked);
      return own && isModel(model) ? [{ model, usage: own }] : [];
    });
    const unread = others.length - models.length;
    return { models, ...(unread > 0 && { others: { usage_breakdown: unread } }) };
  }

  /** The size of the search context and a Pro Search, where the request says them and the usage doesn't. */
  function ofPerplexity(): ToolParts {
    const { searchContext, searchType } = asked();
    return {
      details: {
        ...(raw?.search_context_size == null && contextOf(searchContext)),
        ...(searchType === "pro" && { pro_searches: 1 }),
      },
      // The provider chooses.
      ...(searchType === "auto" && { others: { search_type: 1 } }),
    };
  }

  function usage(): Usage | undefined {
    if (!isRead) {
      read = readUsage();
      isRead = true;
    }
    return read;
  }

  return {
    take(chunk) {
      if (!isFields(chunk)) return;
      gateway = gatewayOf(chunk) ?? gateway;
      isRead = false;
      if (chunk.type === "message_start" && isFields(chunk.message)) {
        record("anthropic", chunk.message.usage, false);
        tools.takeBlocks(chunk.message.content);
      } else if (chunk.type === "message_delta" && isFields(chunk.usage)) {
        // The API counts one output token before it writes any, and takes it back if there is no output.
        if (raw?.output_tokens === 1 && chunk.usage.output_tokens === 0) raw = { ...raw, output_tokens: 0 };
        record("anthropic", chunk.usage, true);
      } else if (chunk.type === "message") {
        record("anthropic", chunk.usage, true);
        tools.takeBlocks(chunk.content);
      } else if (chunk.type === "content_block_start") {
        tools.takeBlocks([chunk.content_block]);
      } else if (isFields(chunk.response) || chunk.object === "response") {
        const response = isFields(chunk.response) ? chunk.response : chunk;
        recordServed({ service_tier: response.service_tier });
        // Some servers begin a stream with counts of 0.
        record("openai-responses", response.usage, !BEGINNING.test(String(chunk.type)));
        tools.takeResponse(response);
      } else if (chunk.type === "response.output_item.done") {
        tools.takeEvent(chunk);
      } else if (chunk.object === "response.compaction") {
        record("openai-responses", chunk.usage, true);
      } else if (chunk.object === "list" && isFields(chunk.usage)) {
        record("openai-compatible", chunk.usage, true); // embeddings
      } else if (isFields(chunk.usageMetadata) || Array.isArray(chunk.candidates)) {
        const candidates = Array.isArray(chunk.candidates) ? chunk.candidates : [];
        const isBlocked = isFields(chunk.promptFeedback) && chunk.promptFeedback.blockReason != null;
        recordChoices("google", candidates, chunk.usageMetadata, isBlocked, isFields(chunk.error));
        tools.takeGemini(chunk);
      } else if (Array.isArray(chunk.choices) || (isFields(chunk.usage) && provider.endsWith(".chat"))) {
        const list = Array.isArray(chunk.choices) ? chunk.choices : [];
        const chatApi = provider.startsWith("openai.") ? "openai-chat" : "openai-compatible";
        recordServed({ service_tier: chunk.service_tier });
        // Most providers send it once, at the end; some send the usage so far with every chunk.
        // One with an error interrupts the answer.
        recordChoices(chatApi, list, chatUsageOf(chunk), list.length === 0, isFields(chunk.error));
        if (chunk.usage_breakdown || chunk.x_groq) recordBreakdown(chunk);
        tools.takeChat(chunk);
      }
    },
    end() {
      isFinal ||= raw !== undefined;
    },
    usage,
    raw: () => raw,
    isFinal: () => isFinal,
    served: () => served,
    statement: () => ({ usage: raw, gateway }),
    withTools(copy) {
      // The copy was made from the same reports, by rules that know less of them.
      const own = usage();
      return own && totalOf(own) >= totalOf(copy) ? own : withParts(copy, tools.parts(raw, asked));
    },
  };
}

/** Returns the tokens of a call with those of other models. */
function totalOf({ inputTokens, outputTokens, models = [] }: Usage): number {
  return models.reduce((sum, { usage }) => sum + totalOf(usage), inputTokens + outputTokens);
}

/**
 * Returns the usage of a chunk of a chat API. Groq has more of it beside the usage, and the usage itself at the end of a
 * stream.
 */
function chatUsageOf({ usage, x_groq }: Fields): unknown {
  const more = isFields(x_groq) ? x_groq.usage : undefined;
  if (!isFields(more)) return usage;
  return isFields(usage) ? { ...more, ...usage } : more;
}

/** Adds parts to a usage, unless they contradict it. */
function withParts(usage: Usage, parts: ToolParts | undefined): Usage {
  if (!parts) return usage;
  const more = usageOf({
    ...usage,
    details: { ...usage.details, ...parts.details },
    others: { ...usage.others, ...parts.others },
    models: [...usage.models ?? [], ...parts.models ?? []],
  });
  return faultOfUsage(more) ? usage : more;
}

/** Returns the model that has answered in place of Anthropic's first one, at whose price the tokens are billed. */
function fallbackOf(usage: Fields): string | undefined {
  return iterationsOf(usage).filter(({ type }) => type === "fallback_message").map(({ model }) => model)
    .findLast(isModel);
}

function isModel(name: unknown): name is string {
  return typeof name === "string" && MODEL_NAME.test(name);
}

/**
 * Normalizes the usage of an AI SDK model call. `provider` is the model's own `.provider`, such as `openai.responses` or
 * `anthropic.messages`.
 *
 * Prefers the provider's raw object if its API is recognized: the SDK's form has no field for the lifetime of a cache write and
 * turns an empty object into zeros. Undefined if neither total is known or the counts contradict each other.
 */
export function usageFromAiSdk(
  provider: string,
  usage: LanguageModelV4Usage,
  /** See {@link trackAnswerUsage}. */
  asked: () => Asked = askedNothing,
): Usage | undefined {
  const api = usage.raw === undefined ? undefined : apiOf(provider, usage.raw);
  if (api === "anthropic") return usageFromRaw(api, withStartOfStream(usage), asked);
  if (api !== undefined) return usageFromRaw(api, usage.raw, asked);
  const { inputTokens: input, outputTokens: output } = usage;
  if (input.total === undefined && output.total === undefined) return undefined;
  const normal = usageOf({
    inputTokens: input.total,
    outputTokens: output.total,
    cacheReadTokens: input.cacheRead,
    cacheWriteTokens: input.cacheWrite,
    cacheWrite1hTokens: oneHourOf(usage.raw),
    reasoningTokens: output.reasoning,
  });
  return faultOfUsage(normal) ? undefined : normal;
}

/**
 * Returns the writes with a lifetime of one hour of Bedrock's Converse API.
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CacheDetail.html
 */
function oneHourOf({ cacheDetails }: Fields = {}): number {
  return (Array.isArray(cacheDetails) ? cacheDetails.filter(isFields) : [])
    .reduce((sum, entry) => sum + (entry.ttl === "1h" ? count(entry, "inputTokens") ?? 0 : 0), 0);
}

/** Returns the API of a provider by its name, else by the form of the raw usage. */
function apiOf(provider: string, raw: Record<string, unknown>): UsageApi | undefined {
  if (provider.endsWith(".responses")) return "openai-responses";
  if (provider.endsWith(".messages") || provider === "anthropic") return "anthropic";
  if (provider.endsWith(".generative-ai")) return "google";
  if (provider === "openai.chat" || provider === "openai.completion") return "openai-chat";
  if ("promptTokenCount" in raw) return "google";
  if ("prompt_tokens" in raw || "completion_tokens" in raw) return "openai-compatible";
  if ("cache_creation_input_tokens" in raw) return "anthropic";
  if ("input_tokens_details" in raw || "output_tokens_details" in raw) return "openai-responses";
  if (provider.endsWith(".chat") || provider.endsWith(".completion")) return "openai-compatible";
  return undefined;
}

/**
 * Restores counts that the raw usage of a stream has lost: the SDK overwrites the usage of `message_start` with that of
 * `message_delta`, nulls and zeros included, while its own form may keep the counts of the start.
 */
function withStartOfStream({ raw = {}, inputTokens }: LanguageModelV4Usage): Record<string, unknown> {
  return {
    ...raw,
    input_tokens: raw.input_tokens || (inputTokens.noCache ?? raw.input_tokens),
    cache_read_input_tokens: raw.cache_read_input_tokens || inputTokens.cacheRead,
    cache_creation_input_tokens: raw.cache_creation_input_tokens || inputTokens.cacheWrite,
  };
}
