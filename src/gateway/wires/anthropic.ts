import { textsOf } from "../../calls/mod.ts";
import { askedIn, type Fields, isFields } from "../../pricing/usage/mod.ts";
import { findReason, isCount, isStreamedIn, modelOf, NAMES_OTHERS, openTool } from "./requests.ts";
import { KNOWN_TO_MESSAGES, unknownField } from "./known_fields.ts";
import type { Wire } from "./wire.ts";

/** `POST /v1/messages` of Anthropic. */
export const anthropicMessages: Wire = {
  api: () => "anthropic.messages",
  known: KNOWN_TO_MESSAGES,
  read: (body) => ({
    model: modelOf(body),
    isStreamed: isStreamedIn(body),
    // 0 is a limit here: it writes a cache, and answers nothing.
    maxOutputTokens: isCount(body.max_tokens) ? body.max_tokens : undefined,
    asks: askedIn(body),
    outputField: "max_tokens",
    unboundedBecause: () => findOpenPart(body),
  }),
  placeOf: ({ type } = {}) => type === "message_stop" ? "last" : type === "error" ? "error" : "other",
  textOf: ({ delta, content_block }) => textsOf(delta) + textsOf(content_block),
};

const TEXT_BLOCKS = new Set([
  "text",
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
  "ephemeral",
]);

function findOpenPart(body: Fields): string | undefined {
  const block = findReason([body.system, body.messages], ({ type }) => {
    if (typeof type !== "string" || TEXT_BLOCKS.has(type)) return undefined;
    return `its messages hold a block of type ${type.slice(0, 80)}`;
  });
  if (block) return block;
  if (body.container != null || body.mcp_servers != null || body.context_management != null) {
    return "the provider adds to its input";
  }
  if (body.fallbacks != null) return NAMES_OTHERS;
  // Tools of the client have no type, or `custom`.
  const tool = openTool(
    body.tools,
    ({ type, input_schema }) =>
      type === undefined || type === null || (type === "custom" && isFields(input_schema)),
  );
  return tool ?? unknownField(body, KNOWN_TO_MESSAGES);
}
