import { divideHalfEven, type NanoUsd } from "../kernel/money.ts";
import { CACHE_WRITE_LIFETIME, type Usage, USAGE_DETAILS, type UsageDetail } from "./usage/usage.ts";
import { leavesOf } from "./usage/usage_leaves.ts";
import { createHash } from "node:crypto";
import { toCanonicalText } from "../kernel/json/canonical_json.ts";
import { type Rates, type RateTier, tierFor } from "./rates.ts";

/** One product of the cost of a call. */
export interface PriceLine {
  /** The part of the usage: `input_tokens`, `cache_read_tokens`, `web_searches`, … */
  part: string;
  /** The model of the part, where it is not that of the call. */
  model?: string;
  /** Tokens or counts that no other line has. */
  quantity: number;
  /** Pico-USD for each; null if the rate card has no such rate. */
  rate: bigint | null;
}

/** The details that are counts of their own, not parts of the input or output. */
const COUNTS = USAGE_DETAILS.filter((name) => !/^(?:input|output|cache)_/.test(name));

/** The counts that say how large the search context of a request was. */
const CONTEXTS = ["low_context_requests", "medium_context_requests", "high_context_requests"] as const;

/** The part that a price depends on and that is not known: the call is priced by the lowest one. */
const SEARCH_CONTEXT = "search_context_size";

/** Splits a checked usage into products of a quantity and a rate; parts of 0 are left out. */
export function priceLines(rates: Rates, usage: Usage): PriceLine[] {
  const tier = tierFor(rates, usage.inputTokens);
  const leaves = leavesOf(usage);
  const detail = (name: UsageDetail) => tier.details?.[name] ?? null;
  const lines: PriceLine[] = [];
  // Most parts are 0, and exports split millions of calls.
  const add = (part: string, quantity: number, rate: bigint | null) => {
    if (quantity > 0) lines.push({ part, quantity, rate });
  };
  add("input_tokens", leaves.input, tier.input);
  add("input_audio_tokens", leaves.inputAudio, detail("input_audio_tokens"));
  add("input_image_tokens", leaves.inputImage, detail("input_image_tokens"));
  add("input_video_tokens", leaves.inputVideo, detail("input_video_tokens"));
  add("cache_read_tokens", leaves.cacheRead, tier.cacheRead);
  add("cache_read_audio_tokens", leaves.cacheReadAudio, detail("cache_read_audio_tokens"));
  add("cache_read_image_tokens", leaves.cacheReadImage, detail("cache_read_image_tokens"));
  add("cache_write_tokens", leaves.cacheWrite, tier.cacheWrite);
  add("cache_write_1h_tokens", leaves.cacheWrite1h, tier.cacheWrite1h);
  add("cache_write_12h_tokens", leaves.cacheWrite12h, detail("cache_write_12h_tokens"));
  add("output_tokens", leaves.output, tier.output);
  add("reasoning_tokens", leaves.reasoning, tier.reasoning);
  add("output_audio_tokens", leaves.outputAudio, detail("output_audio_tokens"));
  add("output_image_tokens", leaves.outputImage, detail("output_image_tokens"));
  add("output_video_tokens", leaves.outputVideo, detail("output_video_tokens"));
  for (const name of COUNTS) add(name, usage.details?.[name] ?? 0, detail(name));
  add("requests", tier.request ? 1 : 0, tier.request ?? null);
  add(SEARCH_CONTEXT, isContextUnknown(tier, usage) ? 1 : 0, null);
  for (const [name, quantity] of Object.entries(usage.others ?? {})) {
    const isPriced = name === CACHE_WRITE_LIFETIME && tier.cacheWrite1h === tier.cacheWrite;
    if (!isPriced) add(name, quantity, null);
  }
  if (usage.models) lines.push(...usage.models.flatMap((one) => linesOfModel(rates, one)));
  return lines;
}

function linesOfModel(rates: Rates, { model, usage }: NonNullable<Usage["models"]>[number]): PriceLine[] {
  const known = rates.others?.[model];
  return priceLines(known ?? UNKNOWN_RATES, usage)
    .map((line) => ({ ...line, model, rate: known ? line.rate : null }));
}

/** Splits the usage of a model without a rate card. */
const UNKNOWN_RATES: Rates = {
  source: "none",
  tiers: [{
    aboveInputTokens: -1,
    input: 0n,
    output: null,
    reasoning: null,
    cacheRead: 0n,
    cacheWrite: 0n,
    cacheWrite1h: 0n,
  }],
};

function isContextUnknown({ isRequestByContext }: RateTier, { details }: Usage): boolean {
  return isRequestByContext === true && !CONTEXTS.some((name) => details?.[name]);
}

/** The cost of a usage at some rates. */
export interface UsageCost {
  /** The sum of the parts that have a rate, rounded once, half to even; null if no part has a rate. */
  costNanoUsd: NanoUsd | null;
  /** The names of the parts without a rate; undefined if all have one. */
  unpricedParts?: readonly string[];
}

/** Prices a checked usage: the leaves (each total minus its parts) in integers, rounded once. */
export function priceUsage(rates: Rates, usage: Usage): UsageCost {
  const tier = tierFor(rates, usage.inputTokens);
  if (
    usage.details || usage.others || usage.models || rates.unknown || tier.isRequestByContext ||
    tier.output === null || tier.reasoning === null
  ) {
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
  for (const { part, model, quantity, rate } of lines) {
    if (rate !== null) picoUsd += BigInt(quantity) * rate;
    else unpriced.push(model === undefined ? part : `${part} of ${model}`);
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
    const { source, model, unknown, tiers, others } = rates;
    const asText = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
    const text = toCanonicalText(
      JSON.parse(JSON.stringify({ source, model, unknown, tiers, others }, asText)),
    );
    const hash = createHash("sha256").update(text).digest("hex");
    records.set(rates, record = { priceId: parseInt(hash.slice(0, 13), 16), hash, text });
  }
  return record;
}

/** Reads the rate card of a record. */
export function parsePriceRecord(text: string): Rates {
  return toRates(JSON.parse(text));
}

/** A rate card whose rates are texts. */
interface CardText extends Omit<Rates, "tiers" | "others"> {
  tiers: Record<string, unknown>[];
  others?: Record<string, CardText>;
}

function toRates({ tiers, others, ...card }: CardText): Rates {
  return {
    ...card,
    tiers: tiers.map(toTier),
    ...(others && {
      others: Object.fromEntries(Object.entries(others).map(([model, one]) => [model, toRates(one)])),
    }),
  };
}

function toTier(
  { aboveInputTokens, isRequestByContext, details, sources, ...rates }: Record<string, unknown>,
): RateTier {
  return {
    aboveInputTokens,
    ...toBigInts(rates),
    ...(isRequestByContext !== undefined && { isRequestByContext }),
    ...(sources !== undefined && { sources }),
    ...(details !== undefined && { details: toBigInts(details as object) }),
  } as RateTier;
}

const toBigInts = (rates: object) =>
  Object.fromEntries(
    Object.entries(rates).map(([name, rate]) => [name, rate === null ? null : BigInt(rate)]),
  );

/** Returns true if a stated cost differs from the booked one by more than 1%, and so has to be shown. */
export function isApart(statedNanoUsd: NanoUsd, costNanoUsd: NanoUsd | null): boolean {
  if (costNanoUsd === null) return true;
  const difference = statedNanoUsd - costNanoUsd;
  return (difference < 0n ? -difference : difference) * 100n > costNanoUsd;
}
