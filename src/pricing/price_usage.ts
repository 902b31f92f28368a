import { divideHalfEven, type NanoUsd } from "../kernel/money.ts";
import type { Usage, UsageDetail } from "./usage/usage.ts";
import { leavesOf } from "./usage/usage_leaves.ts";
import { createHash } from "node:crypto";
import { toCanonicalText } from "../kernel/json/canonical_json.ts";
import { type Rates, type RateTier, tierFor } from "./rates.ts";

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
    count("advisor_calls"), // no rate: they cost what the other model costs
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

/** A rate card as the ledger keeps it, once for all calls that were priced by it. */
export interface PriceRecord {
  /** The first 52 bits of the hash, so that every process gives a card the same id without a look-up. */
  priceId: number;
  /** SHA-256 of the text, in hex. */
  hash: string;
  /** The card as canonical JSON; its rates are texts of pico-USD. */
  text: string;
}

const records = new WeakMap<Rates, PriceRecord>();

/** Returns the record of a rate card. */
export function priceRecordOf(rates: Rates): PriceRecord {
  let record = records.get(rates);
  if (!record) {
    const { source, model, unknown, tiers } = rates;
    const asText = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
    const text = toCanonicalText(JSON.parse(JSON.stringify({ source, model, unknown, tiers }, asText)));
    const hash = createHash("sha256").update(text).digest("hex");
    records.set(rates, record = { priceId: parseInt(hash.slice(0, 13), 16), hash, text });
  }
  return record;
}

/** Reads the rate card of a record. */
export function parsePriceRecord(text: string): Rates {
  const { tiers, ...card } = JSON.parse(text);
  return { ...card, tiers: tiers.map(toTier) };
}

function toTier({ aboveInputTokens, details, sources, ...rates }: Record<string, unknown>): RateTier {
  return {
    aboveInputTokens,
    ...toBigInts(rates),
    ...(sources !== undefined && { sources }),
    ...(details !== undefined && { details: toBigInts(details as object) }),
  } as RateTier;
}

const toBigInts = (rates: object) =>
  Object.fromEntries(
    Object.entries(rates).map(([name, rate]) => [name, rate === null ? null : BigInt(rate)]),
  );
