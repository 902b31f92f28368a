import { type Fields, isFields } from "../../pricing/mod.ts";
import { textsOf } from "../../booking/mod.ts";
import { spliceMember } from "./splice_json.ts";
import { askedIn, findReason, isStreamedIn, limitIn, modelOf, openTool, timesChoices } from "./requests.ts";
import type { Wire } from "./wire.ts";

/** `POST /v1/chat/completions` of OpenAI and of the servers that speak like it. */
export const openAiChat: Wire = {
  api: (provider) => `${provider}.chat`,
  read(body) {
    const limit = limitIn(body, "max_completion_tokens", "max_tokens");
    return {
      model: modelOf(body),
      isStreamed: isStreamedIn(body),
      maxOutputTokens: timesChoices(limit, body.n),
      asks: askedIn(body),
      outputField: body.max_tokens == null ? "max_completion_tokens" : "max_tokens",
      unboundedBecause: findOpenPart(body),
    };
  },
  /** Streams have usage only on request. An `include_usage: false` of the client's is replaced; the chunk is hidden then. */
  askForUsage(bytes, body) {
    const options = body.stream_options;
    if (body.stream !== true || (isFields(options) && options.include_usage === true)) {
      return { bytes, isAdded: false };
    }
    const value = JSON.stringify({ ...(isFields(options) && options), include_usage: true });
    return { bytes: spliceMember(bytes, "stream_options", value), isAdded: true };
  },
  // Azure's first chunk has no choices either, but no usage.
  isUsageOnly: ({ choices, usage }) => Array.isArray(choices) && choices.length === 0 && isFields(usage),
  placeOf: (event, data) => data === "[DONE]" || (event && isFields(event.error)) ? "last" : "other",
  textOf: ({ choices }) => textsOf(choices),
};

/** Parts of messages that are counted as text, and calls of tools. */
const TEXT_PARTS = new Set(["text", "refusal", "function", "custom"]);

function findOpenPart(body: Fields): string | undefined {
  const part = findReason(body.messages, ({ type, audio }) => {
    if (audio != null) return "its messages hold audio";
    if (typeof type !== "string" || TEXT_PARTS.has(type)) return undefined;
    return `its messages hold a part of type ${type.slice(0, 80)}`;
  });
  if (part) return part;
  if (body.models != null || body.fallbacks != null) return "it names other models, too";
  if (body.web_search_options != null || body.plugins != null) return "it searches the web";
  if (
    body.audio != null || (Array.isArray(body.modalities) && body.modalities.some((kind) => kind !== "text"))
  ) {
    return "its answer may hold more than text";
  }
  if (body.prediction != null) return "a prediction may be billed beside its output limit";
  return openTool(body.tools, ({ type }) => type === "function" || type === "custom");
}

/** `POST /v1/embeddings`: all input, no output, never streamed. */
export const embeddings: Wire = {
  // Their usage has the names of chat's.
  api: (provider) => `${provider}.chat`,
  read: (body) => ({
    model: modelOf(body),
    isStreamed: false,
    maxOutputTokens: 0,
    outputField: "input",
    unboundedBecause: isText(body.input) && body.messages === undefined
      ? undefined
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
