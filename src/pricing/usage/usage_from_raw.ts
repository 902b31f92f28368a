import { readAnthropic } from "./anthropic_usage.ts";
import type { Asked } from "./asked.ts";
import { type Fields, isFields } from "./fields.ts";
import { readGoogle } from "./gemini_usage.ts";
import { unknownCounts } from "./known_fields.ts";
import { readChat, readCompatible, readResponses } from "./openai_usage.ts";
import { faultOfUsage, type Usage, usageOf } from "./usage.ts";

/** The APIs whose usage objects are supported. */
export const USAGE_APIS = [
  "openai-chat",
  "openai-responses",
  "anthropic",
  "google",
  "openai-compatible",
] as const;
export type UsageApi = typeof USAGE_APIS[number];

/** The totals of all APIs. */
const TOTALS = [
  "prompt_tokens",
  "completion_tokens",
  "input_tokens",
  "output_tokens",
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
];

/**
 * Normalizes the usage object of a provider, in the form that the provider documents. Undefined if it is missing, empty or
 * contradictory: unknown is not zero. If only one total is missing, it counts as 0; one that is
 * no number makes the usage unknown.
 *
 * With `asked`, which returns what the request has asked for, the usage also has the counts that no rule knows, and cache writes
 * have the lifetime that the request asks; without it, they have the shortest one where the usage doesn't say it.
 */
export function usageFromRaw(api: UsageApi, raw: unknown, asked?: () => Asked): Usage | undefined {
  if (!isFields(raw) || TOTALS.some((name) => raw[name] != null && typeof raw[name] !== "number")) {
    return undefined;
  }
  const counts = READERS[api](raw, asked);
  if (counts === undefined) return undefined;
  const unknown = asked && unknownCounts(api, raw);
  const usage = usageOf(unknown ? { ...counts, others: { ...unknown, ...counts.others } } : counts);
  return faultOfUsage(usage) ? undefined : usage;
}

const READERS = {
  "openai-chat": readChat,
  "openai-responses": readResponses,
  "anthropic": readAnthropic,
  "google": readGoogle,
  "openai-compatible": readCompatible,
} satisfies Record<UsageApi, (raw: Fields, asked?: () => Asked) => Partial<Usage> | undefined>;
