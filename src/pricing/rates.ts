import { divideHalfEven, type NanoUsd, parseUsdPerMillion, type PicoUsdPerToken } from "../kernel/money.ts";
import { leavesOf, type Usage, type UsageDetail } from "./usage/usage.ts";

/** The prices of one tier of the context length, each in pico-USD per token or count. */
export interface RateTier {
  /** The tier applies to calls with more input tokens, cached ones included, than this; -1 on the first tier. */
  aboveInputTokens: number;
  input: PicoUsdPerToken;
  /** Text output; null where the model has no output price (an embedding model). */
  output: PicoUsdPerToken | null;
  /** Reasoning output; null where the model has no output price. */
  reasoning: PicoUsdPerToken | null;
  cacheRead: PicoUsdPerToken;
  /** Cache writes of any lifetime but one and twelve hours. */
  cacheWrite: PicoUsdPerToken;
  cacheWrite1h: PicoUsdPerToken;
  /** The rates of what most calls don't have; a call with a detail that has no rate is partly priced. */
  details?: Readonly<Partial<Record<UsageDetail, bigint>>>;
  /** The fee of each request, in pico-USD. */
  request?: bigint;
}

/** The rate card of one model at one time, as served. */
export interface Rates {
  /** The source of the prices: `config`, `demo`, `genai-prices@<date>` or `litellm@<date>`. */
  source: string;
  /** At least one tier, by rising threshold. */
  tiers: readonly RateTier[];
  /** The id of the model in the source, where that is not the one of the query. */
  model?: string;
  /** The properties of the service, such as `service_tier`, that the source has no rates for: its calls are partly priced. */
  unknown?: readonly string[];
}

/** Returns the tier of a call. Above the threshold of a long-context tier, its prices apply to every token of the call. */
export function tierFor(rates: Rates, inputTokens: number): RateTier {
  for (let i = rates.tiers.length - 1; i > 0; i--) {
    const tier = rates.tiers[i]!;
    if (inputTokens > tier.aboveInputTokens) return tier;
  }
  return rates.tiers[0]!;
}

/** One product of the cost of a call. */
export interface PriceLine {
  /** The part of the usage: `input_tokens`, `cache_read_tokens`, `web_searches`, … */
  part: string;
  /** Tokens or counts that no other line has. */
  quantity: number;
  /** Pico-USD for each; null if the rate card has none. */
  rate: bigint | null;
}

/** Splits a checked usage into products of a quantity and a rate; parts of 0 are left out. */
export function priceLines(rates: Rates, usage: Usage): PriceLine[] {
  const tier = tierFor(rates, usage.inputTokens);
  const leaves = leavesOf(usage);
  const detail = (name: UsageDetail) => tier.details?.[name] ?? null;
  const count = (name: UsageDetail): [string, number, bigint | null] => [
    name,
    usage.details?.[name] ?? 0,
    detail(name),
  ];
  const lines: [part: string, quantity: number, rate: bigint | null][] = [
    ["input_tokens", leaves.input, tier.input],
    ["input_audio_tokens", leaves.inputAudio, detail("input_audio_tokens")],
    ["input_image_tokens", leaves.inputImage, detail("input_image_tokens")],
    ["input_video_tokens", leaves.inputVideo, detail("input_video_tokens")],
    ["cache_read_tokens", leaves.cacheRead, tier.cacheRead],
    ["cache_read_audio_tokens", leaves.cacheReadAudio, detail("cache_read_audio_tokens")],
    ["cache_read_image_tokens", leaves.cacheReadImage, detail("cache_read_image_tokens")],
    ["cache_write_tokens", leaves.cacheWrite, tier.cacheWrite],
    ["cache_write_1h_tokens", leaves.cacheWrite1h, tier.cacheWrite1h],
    ["cache_write_12h_tokens", leaves.cacheWrite12h, detail("cache_write_12h_tokens")],
    ["output_tokens", leaves.output, tier.output],
    ["reasoning_tokens", leaves.reasoning, tier.reasoning],
    ["output_audio_tokens", leaves.outputAudio, detail("output_audio_tokens")],
    ["output_image_tokens", leaves.outputImage, detail("output_image_tokens")],
    ["output_video_tokens", leaves.outputVideo, detail("output_video_tokens")],
    count("web_searches"),
    count("file_searches"),
    count("code_executions"),
    ["requests", tier.request ? 1 : 0, tier.request ?? null],
  ];
  return lines.filter(([, quantity]) => quantity > 0).map(([part, quantity, rate]) => ({
    part,
    quantity,
    rate,
  }));
}

/** The cost of a usage at some rates. */
export interface UsageCost {
  /** The sum of the parts that have a rate, rounded once, half to even; null if none has. */
  costNanoUsd: NanoUsd | null;
  /** The names of the parts without a rate; undefined if all have one. */
  unpricedParts?: readonly string[];
}

/** Prices a checked usage: the leaves (each total minus its parts) in integers, rounded once. */
export function priceUsage(rates: Rates, usage: Usage): UsageCost {
  const tier = tierFor(rates, usage.inputTokens);
  if (usage.details || rates.unknown || tier.output === null || tier.reasoning === null) {
    return sumLines(rates, priceLines(rates, usage));
  }
  // The same sum for most calls, without the lines.
  const uncached = usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens;
  let picoUsd = BigInt(uncached) * tier.input + (tier.request ?? 0n);
  if (usage.cacheReadTokens > 0) picoUsd += BigInt(usage.cacheReadTokens) * tier.cacheRead;
  if (usage.cacheWriteTokens > 0) {
    picoUsd += BigInt(usage.cacheWriteTokens - usage.cacheWrite1hTokens) * tier.cacheWrite +
      BigInt(usage.cacheWrite1hTokens) * tier.cacheWrite1h;
  }
  picoUsd += BigInt(usage.outputTokens - usage.reasoningTokens) * tier.output;
  if (usage.reasoningTokens > 0) picoUsd += BigInt(usage.reasoningTokens) * tier.reasoning;
  return { costNanoUsd: divideHalfEven(picoUsd, 1000n) };
}

/** Adds up the lines of a call. */
export function sumLines(rates: Rates, lines: readonly PriceLine[]): UsageCost {
  let picoUsd = 0n;
  const unpriced = [...rates.unknown ?? []];
  for (const { part, quantity, rate } of lines) {
    if (rate === null) unpriced.push(part);
    else picoUsd += BigInt(quantity) * rate;
  }
  const isUnpriced = lines.length > 0 && lines.every(({ rate }) => rate === null);
  const costNanoUsd = isUnpriced ? null : divideHalfEven(picoUsd, 1000n);
  return unpriced.length === 0 ? { costNanoUsd } : { costNanoUsd, unpricedParts: unpriced };
}

/** The fictitious prices of the `demo` models: 1 USD per million input tokens, 4 USD per million output tokens. */
export const DEMO_RATES: Rates = {
  source: "demo",
  tiers: [{
    aboveInputTokens: -1,
    input: parseUsdPerMillion(1),
    output: parseUsdPerMillion(4),
    reasoning: parseUsdPerMillion(4),
    cacheRead: parseUsdPerMillion(0.1),
    cacheWrite: parseUsdPerMillion(1.25),
    cacheWrite1h: parseUsdPerMillion(1.25),
  }],
};
