import { askedIn, type Fields, isFields } from "../../pricing/usage/mod.ts";
import {
  cannotPass,
  findReason,
  isLongCache,
  isStreamedIn,
  limitIn,
  LONG_CACHE,
  modelOf,
  NAMES_OTHERS,
  openTool,
} from "./requests.ts";
import { KNOWN_TO_RESPONSES, unknownField } from "./known_fields.ts";
import type { Wire } from "./wire.ts";

/** `POST /v1/responses` and `/v1/responses/compact`. */
export const openAiResponses: Wire = {
  api: (provider) => `${provider}.responses`,
  known: KNOWN_TO_RESPONSES,
  read(body) {
    if (body.background !== undefined && body.background !== null && body.background !== false) {
      throw cannotPass(
        'a response with "background": true has no usage when it is answered, so that it could not be booked; leave the ' +
          "field out, or call the provider directly and report the call (POST /costs/events)",
      );
    }
    return {
      model: modelOf(body),
      isStreamed: isStreamedIn(body),
      maxOutputTokens: limitIn(body, "max_output_tokens"),
      asks: askedIn(body),
      outputField: "max_output_tokens",
      unboundedBecause: () => findOpenPart(body),
    };
  },
  placeOf(event) {
    if (event?.type === "error") return "error"; // a `response.failed` may follow, with the usage
    return event && LAST.has(String(event.type)) ? "last" : "other";
  },
  // Other events repeat the text of the deltas.
  textOf: ({ type, delta }) => String(type).endsWith(".delta") && typeof delta === "string" ? delta : "",
};

const LAST = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** Fields that add input which the provider keeps. */
const REMOTE_INPUT = ["previous_response_id", "conversation", "prompt"];

const TEXT_PARTS = new Set([
  "message",
  "input_text",
  "output_text",
  "refusal",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "summary_text",
  "text",
]);

function findOpenPart(body: Fields): string | undefined {
  const remote = REMOTE_INPUT.find((name) => body[name] != null);
  if (remote) return `a part of its input is with the provider (${remote})`;
  const part = isFields(body.input) || Array.isArray(body.input)
    ? findReason(body.input, (item) => {
      const { type } = item;
      if (typeof type === "string") {
        if (!TEXT_PARTS.has(type)) return `its input holds an item of type ${type.slice(0, 80)}`;
      }
      return isLongCache(item) ? LONG_CACHE : undefined;
    })
    : undefined;
  if (part) return part;
  // Without a type, an item is a message, or else a reference to one that the provider has.
  const refers = [body.input].flat().filter(isFields).some(({ type, id, content }) =>
    type == null && id != null && content == null
  );
  if (refers) return "its input refers to an item that is with the provider";
  if (body.models != null || body.fallbacks != null) return NAMES_OTHERS;
  return openTool(body.tools, ({ type }) => type === "function" || type === "custom") ??
    unknownField(body, KNOWN_TO_RESPONSES);
}
