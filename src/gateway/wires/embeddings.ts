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
  }),
  placeOf: () => "other",
  textOf: () => "",
};
