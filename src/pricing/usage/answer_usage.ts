import type { Served } from "../price_book.ts";
import { gatewayOf, type Statement } from "../stated/statement.ts";
import { count, type Fields, isFields } from "./fields.ts";
import { faultOfUsage, type Usage, type UsageDetails, usageOf } from "./usage.ts";
import { type UsageApi, usageFromRaw } from "./usage_from_raw.ts";
import type { LanguageModelV4Usage } from "@ai-sdk/provider";

/** The facts that one answer has reported so far, whole or as the chunks of a stream. */
export interface AnswerUsage {
  /** Reads a whole body, or the next chunk as sent by the provider: the `rawValue` of the AI SDK's `raw` stream parts. */
  take(chunk: unknown): void;
  /** Takes the answer as complete: what it has reported is final, also if nothing in it said so. */
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
   * Adds what a copy of the usage lacks: the parts that the AI SDK drops, and the searches and tools that the answer has
   * reported beside its usage.
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

/** The depth at which what is nested in an answer counts as content, whatever it is. */
const MAX_DEPTH = 8;

/** Returns true if there is text in a part of an answer, beside its role. */
function isContent(part: unknown, depth = 0): boolean {
  if (typeof part === "string") return part !== "";
  if (depth > MAX_DEPTH) return true;
  if (Array.isArray(part)) return part.some((each) => isContent(each, depth + 1));
  return isFields(part) &&
    Object.entries(part).some(([name, value]) => name !== "role" && isContent(value, depth + 1));
}

/** Speeds, regions and their like that are billed at the standard rates. */
const STANDARD = new Set(["standard", "global", "not_available"]);

/**
 * Tracks the usage in an answer. The AI SDK reports it in its `finish` part, which a stream that breaks off never reaches,
 * even if the usage had already arrived. `provider` is the AI SDK model's `.provider`; the chunks have the provider's own form.
 */
export function trackAnswerUsage(provider: string): AnswerUsage {
  let api: UsageApi | undefined;
  let raw: Fields | undefined;
  let isFinal = false;
  const choices = new Choices();
  const served: Served = {};
  let gateway: Fields | undefined;
  let tools: UsageDetails | undefined;

  function record(seenApi: UsageApi, usage: unknown, isLast: boolean): void {
    if (!isFields(usage)) return;
    // What can't be read replaces nothing that could.
    if (isFinal && usageFromRaw(seenApi, usage) === undefined && usageFromRaw(api!, raw) !== undefined) {
      return;
    }
    api = seenApi;
    raw = usage;
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

  return {
    take(chunk) {
      if (!isFields(chunk)) return;
      gateway = gatewayOf(chunk) ?? gateway;
      if (chunk.type === "message_start" && isFields(chunk.message)) {
        record("anthropic", chunk.message.usage, false);
      } else if (chunk.type === "message_delta" && isFields(chunk.usage)) {
        // Its counts replace those of the start, which stay for counts that are null or missing here.
        const counts = Object.entries(chunk.usage).filter(([, count]) => count !== null);
        record("anthropic", { ...raw, ...Object.fromEntries(counts) }, true);
      } else if (chunk.type === "message") {
        record("anthropic", chunk.usage, true);
      } else if (isFields(chunk.response) || chunk.object === "response") {
        const response = isFields(chunk.response) ? chunk.response : chunk;
        recordServed({ service_tier: response.service_tier });
        // Some servers begin a stream with counts of 0.
        record("openai-responses", response.usage, !BEGINNING.test(String(chunk.type)));
        tools = toolsOfResponse(response) ?? tools;
      } else if (chunk.object === "response.compaction") {
        record("openai-responses", chunk.usage, true);
      } else if (chunk.object === "list" && isFields(chunk.usage)) {
        record("openai-compatible", chunk.usage, true); // embeddings
      } else if (isFields(chunk.usageMetadata) || Array.isArray(chunk.candidates)) {
        const candidates = Array.isArray(chunk.candidates) ? chunk.candidates : [];
        const isBlocked = isFields(chunk.promptFeedback) && chunk.promptFeedback.blockReason != null;
        recordChoices("google", candidates, chunk.usageMetadata, isBlocked, isFields(chunk.error));
        tools = searchesOfGemini(chunk) ?? tools;
      } else if (Array.isArray(chunk.choices) || (isFields(chunk.usage) && provider.endsWith(".chat"))) {
        const list = Array.isArray(chunk.choices) ? chunk.choices : [];
        const chatApi = provider.startsWith("openai.") ? "openai-chat" : "openai-compatible";
        recordServed({ service_tier: chunk.service_tier });
        // Most providers send it once, at the end; some send the usage so far with every chunk.
        // One with an error interrupts the answer.
        recordChoices(chatApi, list, chunk.usage, list.length === 0, isFields(chunk.error));
        if (SEARCHES_ALWAYS.test(String(chunk.model))) tools = { web_searches: 1 };
      }
    },
    end() {
      isFinal ||= raw !== undefined;
    },
    usage() {
      const usage = api && usageFromRaw(api, raw);
      return usage && withDetails(usage, tools);
    },
    raw: () => raw,
    isFinal: () => isFinal,
    served: () => served,
    statement: () => ({ usage: raw, gateway }),
    withTools(usage) {
      const own = api && usageFromRaw(api, raw);
      const isSame = own?.inputTokens === usage.inputTokens && own.outputTokens === usage.outputTokens;
      return withDetails(isSame ? own : usage, tools);
    },
  };
}

/** Adds details to a usage, unless they contradict it. */
function withDetails(usage: Usage, details: UsageDetails | undefined): Usage {
  if (!details) return usage;
  const more = usageOf({ ...usage, details: { ...usage.details, ...details } });
  return faultOfUsage(more) ? usage : more;
}

/** Returns the model that has answered in place of Anthropic's first one, at whose price the tokens are billed. */
function fallbackOf({ iterations }: Fields): string | undefined {
  if (!Array.isArray(iterations)) return undefined;
  const models = iterations.filter(isFields).filter(({ type }) => type === "fallback_message")
    .map(({ model }) => model);
  return models.findLast((model) => typeof model === "string" && model.length <= MAX_MODEL_NAME) as
    | string
    | undefined;
}

/** The longest name of a model that a provider is believed. */
const MAX_MODEL_NAME = 200;

/**
 * OpenAI's chat models that search the web before each answer, which their usage doesn't count.
 * https://developers.openai.com/api/docs/guides/tools-web-search
 */
const SEARCHES_ALWAYS = /^gpt-[\w.-]+-search-(?:preview|api)(?:-\d{4}-\d{2}-\d{2})?$/;

/** Counts the searches and containers of a response of OpenAI's Responses API. */
function toolsOfResponse(response: Fields): UsageDetails | undefined {
  const items = Array.isArray(response.output) ? response.output.filter(isFields) : [];
  const ofType = (type: string) => items.filter((item) => item.type === type);
  const searches = ofType("web_search_call").filter(({ action }) =>
    !isFields(action) || action.type === undefined || action.type === "search"
  );
  const containers = new Set(ofType("code_interpreter_call").map((item) => item.container_id));
  const counts = {
    web_searches: count(response, "tool_usage", "web_search", "num_requests") ?? searches.length,
    file_searches: ofType("file_search_call").length,
    code_executions: containers.size,
  };
  return Object.values(counts).some((number) => number > 0) ? counts : undefined;
}

/** Counts the searches of a grounded Gemini answer: up to Gemini 2.5 an answer is billed once, later each query. */
function searchesOfGemini({ candidates, modelVersion }: Fields): UsageDetails | undefined {
  let queries = 0;
  for (const candidate of Array.isArray(candidates) ? candidates : []) {
    const grounding = isFields(candidate) && candidate.groundingMetadata;
    if (isFields(grounding) && Array.isArray(grounding.webSearchQueries)) {
      queries += grounding.webSearchQueries.length;
    }
  }
  if (queries === 0) return undefined;
  return { web_searches: /gemini-[12]\b/.test(String(modelVersion)) ? 1 : queries };
}

/**
 * Normalizes the usage of an AI SDK model call. `provider` is the model's own `.provider`, such as `openai.responses` or
 * `anthropic.messages`.
 *
 * Prefers the provider's raw object if its API is recognized: the SDK's form has no field for the lifetime of a cache write and
 * turns an empty object into zeros. Undefined if neither total is known or the counts contradict each other.
 */
export function usageFromAiSdk(provider: string, usage: LanguageModelV4Usage): Usage | undefined {
  const api = usage.raw === undefined ? undefined : apiOf(provider, usage.raw);
  if (api === "anthropic") return usageFromRaw(api, withStartOfStream(usage));
  if (api !== undefined) return usageFromRaw(api, usage.raw);
  const { inputTokens: input, outputTokens: output } = usage;
  if (input.total === undefined && output.total === undefined) return undefined;
  const normal = usageOf({
    inputTokens: input.total,
    outputTokens: output.total,
    cacheReadTokens: input.cacheRead,
    cacheWriteTokens: input.cacheWrite,
    reasoningTokens: output.reasoning,
  });
  return faultOfUsage(normal) ? undefined : normal;
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
 * `message_delta`, nulls included, while its own form keeps the counts of the start.
 */
function withStartOfStream({ raw, inputTokens }: LanguageModelV4Usage): Record<string, unknown> {
  return {
    ...raw,
    input_tokens: raw?.input_tokens ?? inputTokens.noCache,
    cache_read_input_tokens: raw?.cache_read_input_tokens ?? inputTokens.cacheRead,
    cache_creation_input_tokens: raw?.cache_creation_input_tokens ?? inputTokens.cacheWrite,
  };
}
