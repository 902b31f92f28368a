import { askedIn, type Fields, isFields } from "../../pricing/usage/mod.ts";
import { textsOf } from "../../calls/mod.ts";
import { KNOWN_TO_CHAT, KNOWN_TO_EMBEDDINGS, unknownField } from "./known_fields.ts";
import { spliceMember } from "./splice_json.ts";
import {
  findReason,
  isLongCache,
  isStreamedIn,
  limitIn,
  LONG_CACHE,
  modelOf,
  NAMES_OTHERS,
  openTool,
  timesChoices,
} from "./requests.ts";
import type { Wire } from "./wire.ts";

/** `POST /v1/chat/completions` of OpenAI and of the servers that speak like it. */
export const openAiChat: Wire = {
  api: (provider) => `${provider}.chat`,
  known: KNOWN_TO_CHAT,
  read(body) {
    const limit = limitIn(body, "max_completion_tokens", "max_tokens");
    return {
      model: modelOf(body),
      isStreamed: isStreamedIn(body),
      maxOutputTokens: timesChoices(limit, body.n),
      asks: askedIn(body),
      outputField: body.max_tokens == null ? "max_completion_tokens" : "max_tokens",
      unboundedBecause: () => findOpenPart(body),
    };
  },
  /**
   * Streams have usage only on request. An `include_usage: false` of the client's is replaced; the chunk is hidden then. Options
   * of another type are the provider's to refuse.
   */
  askForUsage(bytes, body) {
    const options = body.stream_options ?? undefined;
    const isAsked = isFields(options) && options.include_usage === true;
    if (body.stream !== true || isAsked || (options !== undefined && !isFields(options))) {
      return { bytes, isAdded: false };
    }
    return {
      bytes: options === undefined
        ? spliceMember(bytes, ["stream_options"], '{"include_usage":true}')
        : spliceMember(bytes, ["stream_options", "include_usage"], "true"),
      isAdded: true,
    };
  },
  // Azure's first chunk has no choices either, but no usage.
  isUsageOnly: ({ choices, usage }) => Array.isArray(choices) && choices.length === 0 && isFields(usage),
  placeOf: (event, data) => data === "[DONE]" ? "last" : event && isFields(event.error) ? "error" : "other",
  textOf: ({ choices }) => textsOf(choices),
};

/** The members of parts of messages that are not text. */
const MEDIA = ["audio", "image_url", "input_audio", "video_url", "file"];

/** Parts of messages that are counted as text, and calls of tools. */
const TEXT_PARTS = new Set(["text", "refusal", "function", "custom"]);

function findOpenPart(body: Fields): string | undefined {
  const part = findReason(body.messages, (fields) => {
    const media = MEDIA.find((name) => fields[name] != null);
    if (media) return `its messages hold ${media}`;
    if (isLongCache(fields)) return LONG_CACHE;
    const { type } = fields;
    if (typeof type !== "string" || TEXT_PARTS.has(type)) return undefined;
    return `its messages hold a part of type ${type.slice(0, 80)}`;
  });
  if (part) return part;
  if (body.models != null || body.fallbacks != null) return NAMES_OTHERS;
  if (body.web_search_options != null || body.plugins != null) return "it searches the web";
  if (
    body.audio != null || (Array.isArray(body.modalities) && body.modalities.some((kind) => kind !== "text"))
  ) {
    return "its answer may hold more than text";
  }
  if (body.prediction != null) return "a prediction may be billed beside its output limit";
  return openTool(body.tools, ({ type }) => type === "function" || type === "custom") ??
    unknownField(body, KNOWN_TO_CHAT);
}

/** `POST /v1/embeddings`: all input, no output, never streamed. */
export const embeddings: Wire = {
  // Their usage has the names of chat's.
  api: (provider) => `${provider}.chat`,
  known: KNOWN_TO_EMBEDDINGS,
  read: (body) => ({
    model: modelOf(body),
    isStreamed: false,
    maxOutputTokens: 0,
    outputField: "input",
    unboundedBecause: () =>
      isText(body.input) && body.messages === undefined
        ? unknownField(body, KNOWN_TO_EMBEDDINGS)
        : "its input may be more than text",
  }),
  placeOf: () => "other",
  textOf: () => "",
};

/** Returns whether an input is a text, tokens, or a list of these. */
function isText(input: unknown, depth = 0): boolean {
  if (typeof input === "string" || typeof input === "number") return true;
  return depth < 2 && Array.isArray(input) && input.every((each) => isText(each, depth + 1));
}
