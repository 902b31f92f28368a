import { BILLED_PART_NAMES, type BilledPart } from "../../contract/billed_parts.ts";
import { PurserError } from "../../kernel/errors.ts";
import { leavesOf } from "./usage_leaves.ts";

/**
 * The usage of one model call, normalized over all providers. Totals are inclusive: `inputTokens` includes the cache reads and
 * writes, `outputTokens` the reasoning, `cacheWriteTokens` the one-hour writes.
 */
export interface Usage {
  /** All input tokens, cached or not. */
  inputTokens: number;
  /** All output tokens, reasoning included. */
  outputTokens: number;
  /** The part of the input that was read from a cache. */
  cacheReadTokens: number;
  /** The part of the input that was written to a cache, of any lifetime. */
  cacheWriteTokens: number;
  /** The part of the cache writes with a lifetime of one hour (Anthropic). */
  cacheWrite1hTokens: number;
  /** The part of the output that was reasoning. */
  reasoningTokens: number;
  /** The quantities billed apart from text; undefined without any, as for most calls. */
  details?: UsageDetails;
  /**
   * Counts that the answer names and that no rule prices, by the name of their field; undefined without any. They make a call
   * partly priced.
   */
  others?: Readonly<Record<string, number>>;
  /** The parts that other models have done, billed at their rates; no other count includes them. Undefined for most calls. */
  models?: readonly ModelUsage[];
}

/** The part of a call that another model has done: an advisor, an image generator. */
export interface ModelUsage {
  model: string;
  /** Has no `models` itself. */
  usage: Usage;
}

/** The names of the counts of {@link Usage}. Kept statements of witnesses have them in this order. */
export const USAGE_FIELDS = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
  "reasoningTokens",
] as const satisfies readonly (keyof Usage)[];

/** The counts of a usage, in the order of {@link USAGE_FIELDS}. */
export type UsageCounts = readonly [
  input: number,
  output: number,
  cacheRead: number,
  cacheWrite: number,
  cacheWrite1h: number,
  reasoning: number,
];

/** Returns the counts of a usage as a list. */
export const countsOf = (usage: Usage): UsageCounts =>
  USAGE_FIELDS.map((name) => usage[name]) as unknown as UsageCounts;

/**
 * The quantities that providers bill apart from text tokens, by their names in the ledger and on the wire. Tokens are parts of
 * the input or output, except for the citation tokens; the others are counts of their own.
 */
export const USAGE_DETAILS = BILLED_PART_NAMES;
export type UsageDetail = BilledPart;

/** The details of a usage; a missing one is 0. */
export type UsageDetails = Readonly<Partial<Record<UsageDetail, number>>>;

/**
 * The name in `others` of the written tokens whose lifetime neither the answer nor the request says: they are priced as writes
 * of the shortest one.
 */
export const CACHE_WRITE_LIFETIME = "cache_write_lifetime";

/** The most parts of other models in one call. */
export const MAX_MODELS = 20;

/** Creates a usage of the given counts; missing counts are 0, and so are details of 0. */
export function usageOf(counts: Partial<Usage>): Usage {
  const usage: Usage = {
    inputTokens: counts.inputTokens ?? 0,
    outputTokens: counts.outputTokens ?? 0,
    cacheReadTokens: counts.cacheReadTokens ?? 0,
    cacheWriteTokens: counts.cacheWriteTokens ?? 0,
    cacheWrite1hTokens: counts.cacheWrite1hTokens ?? 0,
    reasoningTokens: counts.reasoningTokens ?? 0,
  };
  const details = counts.details && withoutZeros(counts.details);
  if (details) usage.details = details;
  if (counts.others && Object.keys(counts.others).length > 0) usage.others = counts.others;
  if (counts.models && counts.models.length > 0) usage.models = counts.models;
  return usage;
}

/** Returns the details that are not 0, in the order of {@link USAGE_DETAILS}; undefined if all are. */
function withoutZeros(details: UsageDetails): UsageDetails | undefined {
  if (!Object.values(details).some((count) => count)) return undefined;
  return Object.fromEntries(USAGE_DETAILS.flatMap((name) => details[name] ? [[name, details[name]]] : []));
}

/** Returns the contradiction in a usage, as the end of a sentence, or undefined. */
export function faultOfUsage(usage: Usage): string | undefined {
  for (const field of USAGE_FIELDS) {
    const count = usage[field];
    if (!Number.isSafeInteger(count) || count < 0) return `${field} is ${count}, not a count of tokens`;
  }
  const cached = usage.cacheReadTokens + usage.cacheWriteTokens;
  if (cached > usage.inputTokens) {
    return `its cache reads and writes are ${cached} tokens of only ${usage.inputTokens} input tokens`;
  }
  if (usage.cacheWrite1hTokens > usage.cacheWriteTokens) {
    return `its one-hour cache writes are ${usage.cacheWrite1hTokens} tokens of only ${usage.cacheWriteTokens} written`;
  }
  if (usage.reasoningTokens > usage.outputTokens) {
    return `its reasoning is ${usage.reasoningTokens} tokens of only ${usage.outputTokens} output tokens`;
  }
  const fault = usage.details && faultOfDetails(usage, usage.details);
  return fault ?? (usage.others || usage.models ? faultOfOthers(usage) : undefined);
}

function faultOfOthers({ others = {}, models = [] }: Usage): string | undefined {
  for (const [name, count] of Object.entries(others)) {
    if (!Number.isSafeInteger(count) || count < 0) return `${name} is ${count}, not a count`;
  }
  for (const { model, usage } of models) {
    const fault = usage.models ? "it has models itself" : faultOfUsage(usage);
    if (fault) return `of ${model}, ${fault}`;
  }
  return undefined;
}

function faultOfDetails(usage: Usage, details: UsageDetails): string | undefined {
  for (const [name, count] of Object.entries(details)) {
    if (!(USAGE_DETAILS as readonly string[]).includes(name)) return `${name} isn't a known part of a usage`;
    if (!Number.isSafeInteger(count) || count < 0) return `${name} is ${count}, not a count`;
  }
  const negative = Object.entries(leavesOf(usage)).find(([, count]) => count < 0);
  return negative && `its parts exceed their total: ${negative[0]} is left with ${negative[1]} tokens`;
}

/**
 * Checks that every count is a safe integer of at least 0 and that no part is greater than its whole: a negative leaf would
 * lower the price. Throws `invalid`.
 */
export function checkUsage(usage: Usage): void {
  const fault = faultOfUsage(usage);
  if (fault) throw new PurserError("invalid", `Cannot take the token usage: ${fault}`);
}

/** Returns true for a usage that has something to bill. */
export function hasQuantity({ inputTokens, outputTokens, details = {} }: Usage): boolean {
  return inputTokens + outputTokens > 0 || Object.values(details).some((count) => count > 0);
}
