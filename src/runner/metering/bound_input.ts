import { Buffer } from "node:buffer";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { InputBound } from "../../calls/mod.ts";

/**
 * Tokens that providers add around a message, a tool and a request: role markers, the schema preamble, the tool-use system
 * prompt (Anthropic's is the longest, about 350 tokens). Generous, since `strict` relies on them.
 */
const TOKENS_AROUND_A_PART = 16;
const TOKENS_AROUND_A_CALL = 1_024;

/** The parts of a call that become input tokens. */
type Input = Pick<
  LanguageModelV4CallOptions,
  "prompt" | "tools" | "toolChoice" | "responseFormat" | "stopSequences" | "providerOptions" | "reasoning"
>;

/**
 * The provider options that add no tokens beyond the output limit. All others may: cached content, an earlier answer, a
 * remote tool, a thinking budget on top of the limit.
 */
const HARMLESS_OPTIONS: Readonly<Record<string, ReadonlySet<string>>> = {
  openai: new Set([
    "store",
    "user",
    "safetyIdentifier",
    "metadata",
    "strictJsonSchema",
    "parallelToolCalls",
    "textVerbosity",
    "reasoningEffort",
  ]),
};

/**
 * Bounds the input of a call. Tokenizers of the providers are byte-level: a token covers at least one byte of UTF-8, so the
 * number of bytes sent to the provider, as JSON, is a bound. Not bounded are media, which are counted by dimensions or
 * duration, tools that the provider runs, and most provider options, which add input of their own.
 */
export function boundInput(options: Input): InputBound {
  const unboundedBecause = findOpenOption(options);
  if (unboundedBecause !== undefined) return { unboundedBecause };
  let parts = 0;
  for (const message of options.prompt) {
    const unboundedBecause = findOpenPart(message);
    if (unboundedBecause !== undefined) return { unboundedBecause };
    parts += countParts(message);
  }
  for (const tool of options.tools ?? []) {
    parts++;
    if (tool.type !== "function") return { unboundedBecause: `the provider runs the tool ${tool.name}` };
  }
  return { max: inputBytesOf(options) + parts * TOKENS_AROUND_A_PART + TOKENS_AROUND_A_CALL };
}

type Prompt = LanguageModelV4CallOptions["prompt"];

/** A message has parts, and is one itself. */
function countParts({ content }: Prompt[number]): number {
  return 1 + (typeof content === "string" ? 0 : content.length);
}

function findOpenPart({ content }: Prompt[number]): string | undefined {
  if (typeof content === "string") return undefined;
  for (const part of content) {
    if (part.type === "file" || part.type === "reasoning-file") {
      return `its prompt holds a file (${part.mediaType})`;
    }
    if (part.type === "tool-result" && part.output.type === "content") {
      const media = part.output.value.find((item) => item.type !== "text");
      if (media) return `a result of the tool ${part.toolName} holds more than text`;
    }
  }
  return undefined;
}

function findOpenOption({ providerOptions = {}, reasoning = "none" }: Input): string | undefined {
  if (reasoning !== "none" && reasoning !== "provider-default") {
    return "a reasoning effort may come on top of its output limit";
  }
  for (const [provider, options] of Object.entries(providerOptions)) {
    const name = Object.keys(options).find((key) => !HARMLESS_OPTIONS[provider]?.has(key));
    if (name !== undefined) return `the provider option ${provider}.${name} may add tokens`;
  }
  return undefined;
}

/** Returns the bytes of a call that become input. */
export function inputBytesOf(options: Input): number {
  const { prompt, tools, toolChoice, responseFormat, stopSequences, providerOptions } = options;
  return Buffer.byteLength(
    JSON.stringify([prompt, tools, toolChoice, responseFormat, stopSequences, providerOptions]),
  );
}
