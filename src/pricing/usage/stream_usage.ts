import type { Usage } from "./usage.ts";
import { type UsageApi, usageFromRaw } from "./usage_from_raw.ts";

/** What the chunks of one stream have said of its usage so far. */
export interface StreamUsage {
  /** Takes the next chunk as the provider sent it: the `rawValue` of the AI SDK's `raw` stream parts. */
  take(chunk: unknown): void;
  /** The usage so far; undefined while none has come. */
  usage(): Usage | undefined;
  /** Whether the provider's last word on the usage has come, so that it needs no estimate. */
  isFinal(): boolean;
  /** The service tier that the provider says it served. */
  serviceTier(): string | undefined;
}

type Fields = Record<string, unknown>;

/**
 * Follows the usage in a stream chunk by chunk. The AI SDK reports usage in its `finish` part, which a stream
 * that breaks never gets to, even where its usage had already arrived: this keeps what was known. `provider`
 * is the AI SDK model's `.provider`; the shapes of the chunks are the providers' own.
 */
export function trackStreamUsage(provider: string): StreamUsage {
  let api: UsageApi | undefined;
  let raw: Fields | undefined;
  let isFinal = false;
  let serviceTier: string | undefined;

  function note(seenApi: UsageApi, usage: unknown, isLast: boolean): void {
    if (!isFields(usage)) return;
    api = seenApi;
    raw = usage;
    isFinal ||= isLast;
    noteTier(usage.service_tier ?? usage.serviceTier);
  }

  function noteTier(tier: unknown): void {
    if (typeof tier === "string") serviceTier = tier;
  }

  return {
    take(chunk) {
      if (!isFields(chunk)) return;
      if (chunk.type === "message_start" && isFields(chunk.message)) {
        note("anthropic", chunk.message.usage, false);
      } else if (chunk.type === "message_delta" && isFields(chunk.usage)) {
        // Its counts replace those of the start; what it leaves null or out, the start still says.
        const counts = Object.entries(chunk.usage).filter(([, count]) => count !== null);
        note("anthropic", { ...raw, ...Object.fromEntries(counts) }, true);
      } else if (isFields(chunk.response)) {
        noteTier(chunk.response.service_tier);
        note("openai-responses", chunk.response.usage, true);
      } else if (isFields(chunk.usageMetadata)) {
        note("google", chunk.usageMetadata, hasFinished(chunk.candidates));
      } else if (Array.isArray(chunk.choices)) {
        noteTier(chunk.service_tier);
        // Most send it once, at the end; some send the usage so far with every chunk.
        const isLast = chunk.choices.length === 0 || hasFinished(chunk.choices);
        note(provider.startsWith("openai.") ? "openai-chat" : "openai-compatible", chunk.usage, isLast);
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
