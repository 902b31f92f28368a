import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";

/** The answer of a model, as the event log keeps it. Plain JSON. */
export interface Answer {
  text: string;
  reasoning: string;
  tool_calls: { tool_call_id: string; tool_name: string; input: unknown }[];
  finish_reason: string;
}

/** Converts the answer of a call that was not streamed. */
export function answerOf(
  content: readonly LanguageModelV4Content[],
  reason: LanguageModelV4FinishReason,
): Answer {
  const answer = emptyAnswer();
  for (const part of content) {
    if (part.type === "text") answer.text += part.text;
    else if (part.type === "reasoning") answer.reasoning += part.text;
    else if (part.type === "tool-call") addToolCall(answer, part);
  }
  answer.finish_reason = reason.unified;
  return answer;
}

/** Returns an answer without any content, to add the parts of a stream to. */
export function emptyAnswer(): Answer {
  return { text: "", reasoning: "", tool_calls: [], finish_reason: "unknown" };
}

/** Adds one part of a stream to an answer. */
export function addStreamPart(answer: Answer, part: LanguageModelV4StreamPart): void {
  switch (part.type) {
    case "text-delta":
      answer.text += part.delta;
      break;
    case "reasoning-delta":
      answer.reasoning += part.delta;
      break;
    case "tool-call":
      addToolCall(answer, part);
      break;
    case "finish":
      answer.finish_reason = part.finishReason.unified;
      break;
  }
}

function addToolCall(answer: Answer, call: { toolCallId: string; toolName: string; input: string }): void {
  answer.tool_calls.push({
    tool_call_id: call.toolCallId,
    tool_name: call.toolName,
    input: parse(call.input),
  });
}

/** Parses the arguments of a tool call; those that are not JSON stay text. */
function parse(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

/** Returns all text of an answer, to estimate its tokens. */
export function textOf(answer: Answer): string {
  return answer.text + answer.reasoning +
    answer.tool_calls.map((call) => JSON.stringify(call.input)).join("");
}
