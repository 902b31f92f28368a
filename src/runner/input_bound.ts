import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";

/**
 * What providers add around a message, a tool and a request: role markers, the schema preamble, the tool-use
 * system prompt (Anthropic's is the longest, about 350 tokens). Generous, since `strict` relies on it.
 */
const TOKENS_AROUND_A_PART = 16;
const TOKENS_AROUND_A_CALL = 1_024;

/** An upper bound of a call's input tokens, or the reason why there is none. */
export type InputBound = { max: number } | { unboundedBecause: string };

/**
 * Bounds the input of a call. Tokenizers of the providers are byte-level: a token covers at least one byte
 * of UTF-8, so the bytes of the prompt's JSON are a bound. Media are counted by their dimensions or
 * duration, and tools that the provider runs add input of their own: neither can be bounded here.
 */
export function boundInput(options: Pick<LanguageModelV4CallOptions, "prompt" | "tools">): InputBound {
  let parts = 0;
  for (const message of options.prompt) {
    parts++;
    if (typeof message.content === "string") continue;
    for (const part of message.content) {
      parts++;
      if (part.type === "file" || part.type === "reasoning-file") {
        return { unboundedBecause: `its prompt holds a file (${part.mediaType})` };
      }
      if (part.type === "tool-result" && part.output.type === "content") {
        const media = part.output.value.find((item) => item.type !== "text");
        if (media) return { unboundedBecause: `a result of the tool ${part.toolName} holds more than text` };
      }
    }
  }
  for (const tool of options.tools ?? []) {
    parts++;
    if (tool.type !== "function") return { unboundedBecause: `the provider runs the tool ${tool.name}` };
  }
  return { max: byteLength(options) + parts * TOKENS_AROUND_A_PART + TOKENS_AROUND_A_CALL };
}

/** A guess at a call's input tokens, for when the provider's count never arrived: four bytes a token. */
export function estimateInputTokens(options: Pick<LanguageModelV4CallOptions, "prompt" | "tools">): number {
  return Math.ceil(byteLength(options) / 4);
}

/** A guess at output tokens: four bytes a token. */
export function estimateOutputTokens(text: string): number {
  return Math.ceil(utf8Length(text) / 4);
}

function byteLength({ prompt, tools }: Pick<LanguageModelV4CallOptions, "prompt" | "tools">): number {
  return utf8Length(JSON.stringify([prompt, tools ?? []]));
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
