import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { MAX_CALL_TOKENS, MAX_CALL_USD } from "../../contract/limits.ts";
import { NANO_PER_USD, type NanoUsd } from "../../kernel/money.ts";
import { type Price, type Served, type Usage, usageOf } from "../../pricing/mod.ts";
import { type Answer, textOf } from "../answer.ts";
import { estimateInputTokens, utf8Length } from "./call_bounds.ts";
import type { Log } from "../../kernel/log.ts";
import type { ModelCall } from "../../ledger/mod.ts";
import type { Secrets } from "../../redaction/values/mod.ts";
import { modelErrorText, redactSecrets } from "../models/model_error.ts";

/** The usage and the metadata that a provider has reported with an answer. */
export interface UsageReport {
  /** The final counts; undefined if they never arrived. */
  counted: Usage | undefined;
  /** The counts that had arrived before a stream broke off. */
  partial?: Usage;
  /** The usage as the provider has sent it, for the log. */
  raw?: unknown;
  /** The text of an answer that could not be read, to estimate its tokens. */
  unreadText?: string;
  served?: Served;
  /** The cost that the provider states. */
  statedNanoUsd?: NanoUsd;
  responseId?: string;
  responseModel?: string;
  /** Set for an incomplete answer, for telemetry. */
  errorType?: string;
  /** The error with which a call without an answer fails. */
  failure?: unknown;
  /** The error that ended an answer in the middle. */
  brokenBy?: unknown;
}

/** The error type of an answer whose caller has cancelled the call. */
export const CANCELLED = "cancelled";

/** The usage and the price of a call that was made. */
export interface SettledUsage {
  usage: Usage;
  price: Price;
  /** The reason why the usage is an estimate; undefined if the provider has counted it. */
  estimatedBecause?: string;
}

const MAX_CALL_NANO_USD = BigInt(MAX_CALL_USD) * NANO_PER_USD;

/**
 * Decides what a call is booked with: the provider's counts, or an estimate from the text if they are missing or beyond what
 * any call can have. One absurd answer would otherwise exhaust the ledger.
 */
export function settleUsage(
  report: UsageReport,
  answer: Answer,
  options: LanguageModelV4CallOptions,
  priceOf: (usage: Usage, statedNanoUsd: NanoUsd | undefined) => Price,
): SettledUsage {
  const { counted, raw, statedNanoUsd } = report;
  let estimatedBecause = raw === undefined ? "it has no usage" : "its usage can't be read";
  if (counted) {
    const price = isPlausible(counted) ? priceOf(counted, statedNanoUsd) : undefined;
    if (price && (price.costNanoUsd ?? 0n) <= MAX_CALL_NANO_USD) return { usage: counted, price };
    estimatedBecause = price
      ? `its usage would cost more than $${MAX_CALL_USD}`
      : `its usage is more than ${MAX_CALL_TOKENS} tokens`;
  }
  const usage = estimateUsage(report, answer, options);
  return { usage, price: priceOf(usage, counted ? undefined : statedNanoUsd), estimatedBecause };
}

function isPlausible({ details, ...counts }: Usage): boolean {
  return isBounded(counts) && (details === undefined || isBounded(details));
}

function isBounded(counts: Readonly<Record<string, number>>): boolean {
  return Object.values(counts).every((count) => count <= MAX_CALL_TOKENS);
}

/** Completes the partial counts of a call with estimates from its text: four bytes per token. */
function estimateUsage(
  { counted, partial, unreadText }: UsageReport,
  answer: Answer,
  options: LanguageModelV4CallOptions,
): Usage {
  const known = !counted && partial && isPlausible(partial) ? partial : undefined;
  const unread = Math.min(estimateTokens(unreadText ?? ""), options.maxOutputTokens ?? MAX_CALL_TOKENS);
  const outputTokens = Math.max(known?.outputTokens ?? 0, estimateTokens(textOf(answer)), unread);
  if (known && known.inputTokens > 0) return { ...known, outputTokens };
  return usageOf({ inputTokens: estimateInputTokens(options), outputTokens });
}

function estimateTokens(text: string): number {
  return Math.ceil(utf8Length(text) / 4);
}

/** The longest usage of a provider in the log, in characters. */
const MAX_USAGE_LENGTH = 1_000;

/**
 * Logs a call that is booked as an estimate, with the reason and the usage as the provider has sent it. Not for a call that its
 * caller has cancelled, whose usage isn't expected.
 */
export function warnOfEstimate(
  { log, secrets }: { log: Log; secrets: Pick<Secrets, "scrub"> },
  call: ModelCall,
  { counted, raw, errorType, failure, brokenBy }: UsageReport,
  because: string,
): void {
  if (errorType === CANCELLED && !counted) return;
  const error = counted ? undefined : failure ?? brokenBy;
  const usage = raw ?? counted;
  log.warn("A model call is booked as an estimate", {
    call_id: call.callId,
    provider: call.provider,
    model: call.model,
    reason: error === undefined ? because : modelErrorText(error),
    ...(usage !== undefined &&
      { usage: redactSecrets(secrets.scrub(usageText(usage))).slice(0, MAX_USAGE_LENGTH) }),
  });
}

/** Returns a usage as text; the model of a library user may report anything. */
function usageText(usage: unknown): string {
  try {
    return JSON.stringify(usage) ?? String(usage);
  } catch {
    return String(usage);
  }
}
