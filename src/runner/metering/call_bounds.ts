import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Budget, CallBounds, Grant } from "../../budgets/mod.ts";
import { type PriceBook, type PriceQuery, worstCaseCost } from "../../pricing/mod.ts";

/**
 * Tokens that providers add around a message, a tool and a request: role markers, the schema preamble, the tool-use system
 * prompt (Anthropic's is the longest, about 350 tokens). Generous, since `strict` relies on them.
 */
const TOKENS_AROUND_A_PART = 16;
const TOKENS_AROUND_A_CALL = 1_024;

/** An upper bound of a call's input tokens, or the reason that there is none. */
export type InputBound = { max: number } | { unboundedBecause: string };

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
  const open = findOpenOption(options);
  if (open) return { unboundedBecause: open };
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

/** Estimates the input tokens of a call without a count of the provider: four bytes per token. */
export function estimateInputTokens(options: Input): number {
  return Math.ceil(byteLength(options) / 4);
}

function byteLength(options: Input): number {
  const { prompt, tools, toolChoice, responseFormat, stopSequences, providerOptions } = options;
  return utf8Length(
    JSON.stringify([prompt, tools, toolChoice, responseFormat, stopSequences, providerOptions]),
  );
}

export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The output limit of a strict call whose agent sets none; every current model accepts it. */
const STRICT_OUTPUT_TOKENS = 4_096;

/** The estimated output of the first call of a run. */
const ESTIMATED_OUTPUT_TOKENS = 256;

/** Returns the bounds of the next call, on which the budget decides. */
export function callBounds(
  prices: PriceBook,
  query: PriceQuery,
  budget: Budget,
  options: LanguageModelV4CallOptions,
  lastCostNanoUsd: bigint | null,
): CallBounds {
  if (budget.mode === "strict") {
    const inputTokens: InputBound = searchesByItself(query)
      ? { unboundedBecause: "its model searches the web by itself" }
      : boundInput(options);
    return {
      inputTokens,
      outputTokens: options.maxOutputTokens ?? STRICT_OUTPUT_TOKENS,
      rates: strictRates(prices, query, budget, inputTokens),
      estimateNanoUsd: 0n,
    };
  }
  return {
    inputTokens: { unboundedBecause: "a budget that stops needs no bound" },
    outputTokens: 0,
    rates: null,
    estimateNanoUsd: lastCostNanoUsd ??
      prices.worstCase({
        ...query,
        inputTokens: estimateInputTokens(options),
        outputTokens: ESTIMATED_OUTPUT_TOKENS,
      }) ?? 0n,
  };
}

/** Models that search without a tool: Perplexity's, OpenAI's of the name, and those that research. */
const SEARCHING_MODELS = /-search-(?:preview|api)\b|deep-research|(?:^|\/)sonar\b/;

function searchesByItself({ provider, model }: PriceQuery): boolean {
  return provider === "perplexity" || SEARCHING_MODELS.test(model);
}

/** Returns the highest prices of a strict call. Those of an unbounded one are read only to find out if there are any. */
function strictRates(prices: PriceBook, query: PriceQuery, budget: Budget, input: InputBound) {
  if ("max" in input) return prices.worstCaseRates({ ...query, inputTokens: input.max });
  return budget.allowUnpriced
    ? prices.worstCaseRates({ ...query, inputTokens: Number.MAX_SAFE_INTEGER })
    : null;
}

/** Returns true if the reservation of a strict call also covers its worst case at the prices of another time. */
export function isCovered(
  prices: PriceBook,
  query: PriceQuery,
  budget: Budget,
  call: CallBounds,
  { reservedNanoUsd, outputLimit = call.outputTokens }: Grant,
): boolean {
  const rates = strictRates(prices, query, budget, call.inputTokens);
  if (rates === null || call.rates === null || !("max" in call.inputTokens)) return rates === call.rates;
  const cost = worstCaseCost(rates, { inputTokens: call.inputTokens.max, outputTokens: outputLimit });
  return cost !== null && cost <= reservedNanoUsd;
}
