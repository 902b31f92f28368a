import type { Usage } from "./usage.ts";
import { type UsageApi, usageFromRaw } from "./usage_from_raw.ts";

/** The usage that the chunks of one stream have reported so far. */
export interface StreamUsage {
  /** Reads the next chunk as sent by the provider: the `rawValue` of the AI SDK's `raw` stream parts. */
  take(chunk: unknown): void;
  /** Returns the usage so far; undefined before the first report. */
  usage(): Usage | undefined;
  /** Returns true once the final usage has been reported, so that no estimate is needed. */
  isFinal(): boolean;
  /** Returns the service tier that the provider reports. */
  serviceTier(): string | undefined;
}

type Fields = Record<string, unknown>;

/**
 * Tracks the usage in a stream chunk by chunk. The AI SDK reports usage in its `finish` part, which a stream that breaks off
 * never reaches, even if its usage had already arrived. `provider` is the AI SDK model's `.provider`; the chunks have the
 * provider's own form.
 */
export function trackStreamUsage(provider: string): StreamUsage {
  let api: UsageApi | undefined;
  let raw: Fields | undefined;
  let isFinal = false;
  let serviceTier: string | undefined;

  function record(seenApi: UsageApi, usage: unknown, isLast: boolean): void {
    if (!isFields(usage)) return;
    api = seenApi;
    raw = usage;
    isFinal ||= isLast;
    recordTier(usage.service_tier ?? usage.serviceTier);
  }

  function recordTier(tier: unknown): void {
    if (typeof tier === "string") serviceTier = tier;
  }

  return {
    take(chunk) {
      if (!isFields(chunk)) return;
      if (chunk.type === "message_start" && isFields(chunk.message)) {
        record("anthropic", chunk.message.usage, false);
      } else if (chunk.type === "message_delta" && isFields(chunk.usage)) {
        // Its counts replace those of the start, which stay for counts that are null or missing here.
        const counts = Object.entries(chunk.usage).filter(([, count]) => count !== null);
        record("anthropic", { ...raw, ...Object.fromEntries(counts) }, true);
      } else if (isFields(chunk.response)) {
        recordTier(chunk.response.service_tier);
        record("openai-responses", chunk.response.usage, true);
      } else if (isFields(chunk.usageMetadata)) {
        record("google", chunk.usageMetadata, hasFinished(chunk.candidates));
      } else if (Array.isArray(chunk.choices)) {
        recordTier(chunk.service_tier);
        // Most providers send it once, at the end; some send the usage so far with every chunk.
        const isLast = chunk.choices.length === 0 || hasFinished(chunk.choices);
        record(provider.startsWith("openai.") ? "openai-chat" : "openai-compatible", chunk.usage, isLast);
      }
    },
    usage: () => api && usageFromRaw(api, raw),
    isFinal: () => isFinal,
    serviceTier: () => serviceTier,
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasFinished(choices: unknown): boolean {
  return Array.isArray(choices) && choices.some((choice) => choice?.finish_reason ?? choice?.finishReason);
}
