import { modelOf } from "./requests.ts";
import type { Wire } from "./wire.ts";

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
