import { type Fields, isFields } from "../../pricing/mod.ts";
import { askedIn, cannotPass, findReason, isStreamedIn, limitIn, modelOf, openTool } from "./requests.ts";
import type { Wire } from "./wire.ts";

/** `POST /v1/responses` and `/v1/responses/compact`. */
export const openAiResponses: Wire = {
  api: (provider) => `${provider}.responses`,
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
      unboundedBecause: findOpenPart(body),
    };
  },
  placeOf(event) {
    return event && LAST.has(String(event.type)) ? "last" : "other";
  },
  // Other events repeat what the deltas had.
  textOf: ({ type, delta }) => String(type).endsWith(".delta") && typeof delta === "string" ? delta : "",
};

const LAST = new Set(["response.completed", "response.incomplete", "response.failed", "error"]);

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
    ? findReason(
      body.input,
      ({ type }) =>
        typeof type !== "string" || TEXT_PARTS.has(type)
          ? undefined
          : `its input holds an item of type ${type.slice(0, 80)}`,
    )
    : undefined;
  return part ?? openTool(body.tools, ({ type }) => type === "function" || type === "custom");
}
