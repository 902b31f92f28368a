import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";

/** What a model answered, as the event log keeps it. Plain JSON. */
export interface Answer {
  text: string;
  reasoning: string;
  tool_calls: { tool_call_id: string; tool_name: string; input: unknown }[];
  finish_reason: string;
}

/** The answer of a call that was not streamed. */
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

/** An answer of which nothing has arrived yet. */
export function emptyAnswer(): Answer {
  return { text: "", reasoning: "", tool_calls: [], finish_reason: "unknown" };
}

/** Adds what one part of a stream says. */
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

/** A model may write arguments that are no JSON; the log keeps them as they came. */
function parse(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

/** All text of an answer, for guessing its tokens. */
export function textOf(answer: Answer): string {
  return answer.text + answer.reasoning +
    answer.tool_calls.map((call) => JSON.stringify(call.input)).join("");
}
