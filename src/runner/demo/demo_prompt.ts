import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

const encoder = new TextEncoder();

/** Counts tokens as the demo models do: a quarter of the UTF-8 bytes, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(encoder.encode(text).length / 4);
}

/** Cuts a text to at most so many tokens, without splitting a character. */
export function cutToTokens(text: string, tokens: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(0, Math.floor(tokens)) * 4));
  return text.slice(0, read);
}

/**
 * Counts the tokens of a prompt, and those that the previous call has already sent: all up to the last answer of the model.
 * So the cache reads of a step equal the input tokens of the step before.
 */
export function measurePrompt(prompt: LanguageModelV4Prompt): { total: number; cacheRead: number } {
  const lastAnswer = prompt.findLastIndex((message) => message.role === "assistant");
  const texts = prompt.map(textOfMessage);
  return {
    total: countTokens(texts.join("")),
    cacheRead: lastAnswer === -1 ? 0 : countTokens(texts.slice(0, lastAnswer).join("")),
  };
}

/** Returns the parts of a message that count as tokens. */
function textOfMessage(message: LanguageModelV4Message): string {
  if (message.role === "system") return message.content;
  return message.content.map((part) => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return part.text;
      case "tool-call":
        return part.toolName + JSON.stringify(part.input);
      case "tool-result":
        return part.toolName + JSON.stringify("value" in part.output ? part.output.value : part.output);
      default:
        return part.type;
    }
  }).join("");
}

/** Returns one more than the highest N of the ids `demo_N` in the prompt, so that ids are unique in a session. */
export function nextToolCallNumber(prompt: LanguageModelV4Prompt): number {
  let highest = 0;
  for (const message of prompt) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type !== "tool-call") continue;
      highest = Math.max(highest, Number(/^demo_(\d{1,9})$/.exec(part.toolCallId)?.[1] ?? 0));
    }
  }
  return highest + 1;
}

/** The current turn: the last message of the user and the messages after it. */
export interface Turn {
  userText: string;
  /** The number of tool calls since. */
  toolCalls: number;
  /** The results of the tools, in order. */
  results: { toolName: string; value: unknown; isError: boolean }[];
}

/** Reads the current turn of a prompt. */
export function readTurn(prompt: LanguageModelV4Prompt): Turn {
  const start = prompt.findLastIndex((message) => message.role === "user");
  const user = prompt[start];
  const turn: Turn = {
    userText: user?.role === "user"
      ? user.content.map((part) => part.type === "text" ? part.text : "").join("\n").trim()
      : "",
    toolCalls: 0,
    results: [],
  };
  for (const message of prompt.slice(start + 1)) {
    if (message.role !== "assistant" && message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type === "tool-call") turn.toolCalls++;
      if (part.type !== "tool-result") continue;
      const { toolName, output } = part;
      const value = output.type === "execution-denied" ? output.reason ?? "denied" : output.value;
      const isError = output.type.startsWith("error") || output.type === "execution-denied";
      turn.results.push({ toolName, value, isError });
    }
  }
  return turn;
}
