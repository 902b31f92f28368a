import { Buffer } from "node:buffer";
import { MAX_CALL_TOKENS, MAX_CALL_USD } from "../contract/limits.ts";
import type { CallOutcome } from "../contract/values.ts";
import type { AnswerIds } from "../ledger/mod.ts";
import { estimateTokens } from "./answer_text.ts";
import { MAX_CALL_NANO_USD } from "./make_call.ts";
import { hasQuantity, type Price, type Served, type Usage, usageOf } from "../pricing/mod.ts";
import type { Statement } from "../pricing/usage/mod.ts";

/** The usage and the metadata that a provider has reported with an answer. */
export interface UsageReport {
  /** The final counts; undefined if they never arrived. */
  counted: Usage | undefined;
  /** The counts that had arrived before a stream broke off. */
  partial?: Usage;
  /** The usage as the provider has sent it, for the log. */
  raw?: unknown;
  /** The text of an answer that could not be read, from which its tokens are estimated. */
  unreadText?: string;
  served?: Served;
  /** The parts of a complete answer that may state its cost. */
  statement?: Statement | undefined;
  /** True if a plan pays for the call, as its answer says: nothing is billed. */
  isPlan?: boolean;
  responseId?: string;
  /** The ids in the headers of the answer. */
  ids?: AnswerIds;
  responseModel?: string;
  /** Set for an answer that is incomplete, or an error; for telemetry. */
  errorType?: string;
  /** The error with which a call without an answer fails. */
  failure?: unknown;
  /** The error that ended an answer in the middle. */
  brokenBy?: unknown;
}

/** The error type of an answer whose caller has cancelled the call. */
export const CANCELLED = "cancelled";

/** Returns how an incomplete call ended, with the HTTP status of a failed one. */
export function outcomeOf(
  { errorType, failure, brokenBy }: UsageReport,
): { outcome?: CallOutcome; status?: number } {
  if (errorType === CANCELLED) return { outcome: "cancelled" };
  if (brokenBy !== undefined) return { outcome: "cut" };
  if (errorType === undefined && failure === undefined) return {};
  return { outcome: "failed", ...(/^\d{3}$/.test(errorType ?? "") && { status: Number(errorType) }) };
}

/** The size of a call, from which its usage is estimated where the provider's counts are missing. */
export interface CallSize {
  /** Returns the bytes of the request that become input. */
  inputBytes(): number;
  /** Returns the bytes of text received so far; all bytes, if the answer has no text. */
  outputBytes(): number;
  /** Returns the bytes that are known to be text of the model; default: `outputBytes()`. */
  textBytes?(): number;
  maxOutputTokens?: number | undefined;
}

/** The usage and the price of a call that was made. */
export interface SettledUsage {
  usage: Usage;
  price: Price;
  /** The reason why the usage is an estimate; undefined if the provider has counted it. */
  estimatedBecause?: string;
}

/**
 * Decides what a call is booked with: the provider's counts, or an estimate from the text if they are missing, too low for that
 * text, or beyond what any call can have. One absurd answer would otherwise exhaust the ledger.
 */
export function settleUsage(
  report: UsageReport,
  size: CallSize,
  priceOf: (usage: Usage, statement: Statement | undefined) => Price,
): SettledUsage {
  const { counted, raw, statement } = report;
  const undercount = counted && isPlausible(counted) ? undercountOf(counted, size) : undefined;
  if (undercount) {
    const settled = settleUsage({ ...report, counted: undefined, partial: counted! }, size, priceOf);
    return { ...settled, estimatedBecause: `its usage counts ${undercount}` };
  }
  let estimatedBecause = raw === undefined ? "it has no usage" : "its usage can't be read";
  if (counted) {
    const price = isPlausible(counted) ? priceOf(counted, statement) : undefined;
    if (price && (price.costNanoUsd ?? 0n) <= MAX_CALL_NANO_USD) return { usage: counted, price };
    estimatedBecause = price
      ? `its usage would cost more than $${MAX_CALL_USD}`
      : `its usage is more than ${MAX_CALL_TOKENS} tokens`;
  }
  const usage = estimateUsage(report, size);
  return { usage, price: priceOf(usage, counted ? undefined : statement), estimatedBecause };
}

/** A text of this length has more than one token. */
const LONG_TEXT_BYTES = 256;

/**
 * Returns what a usage counts (`nothing`, `no output`) if that is too little for the text of its answer. Servers that don't count
 * send zeros, or count one token of output, with which the streams of Anthropic begin. Such a count is unknown.
 */
function undercountOf(
  usage: Usage,
  { outputBytes, textBytes = outputBytes, maxOutputTokens }: CallSize,
): "nothing" | "no output" | undefined {
  if (maxOutputTokens === 0 || usage.models) return undefined;
  if (!hasQuantity(usage)) return textBytes() > 0 ? "nothing" : undefined;
  return usage.outputTokens <= 1 && textBytes() >= LONG_TEXT_BYTES ? "no output" : undefined;
}

function isPlausible(usage: Usage): boolean {
  return isBounded(usage) && (!usage.details || isBounded(usage.details)) &&
    (!usage.models || usage.models.every((model) => isPlausible(model.usage)));
}

function isBounded(counts: Readonly<object>): boolean {
  for (const count of Object.values(counts)) {
    if (typeof count === "number" && !(count <= MAX_CALL_TOKENS)) return false;
  }
  return true;
}

/** Completes the partial counts of a call with estimates from its text: four bytes per token. */
function estimateUsage(
  { counted, partial, unreadText }: UsageReport,
  { inputBytes, outputBytes, maxOutputTokens = MAX_CALL_TOKENS }: CallSize,
): Usage {
  const known = !counted && partial && isPlausible(partial) ? partial : undefined;
  const unread = Math.min(estimateTokens(Buffer.byteLength(unreadText ?? "")), maxOutputTokens);
  // Embeddings have a limit of 0: their answer is not text.
  const written = maxOutputTokens === 0 ? 0 : estimateTokens(outputBytes());
  const outputTokens = Math.max(known?.outputTokens ?? 0, written, unread);
  const inputTokens = known?.inputTokens || estimateTokens(inputBytes());
  return { ...known ?? usageOf({}), inputTokens, outputTokens };
}

/** The longest usage in the log, in characters. */
const MAX_USAGE_LENGTH = 1_000;

/** Returns a usage as it was reported, as text for the log. It may be anything that a provider, or the model of a program, sends. */
export function usageText(usage: unknown, clean: (text: string) => string): string {
  let text: string;
  try {
    text = JSON.stringify(usage) ?? String(usage);
  } catch {
    text = String(usage);
  }
  return clean(text).slice(0, MAX_USAGE_LENGTH);
}
