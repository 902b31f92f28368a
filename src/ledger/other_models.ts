import type { OtherModel } from "../contract/usage.ts";
import { type ModelUsage, type Usage, USAGE_DETAILS } from "../pricing/mod.ts";

/** Converts what other models have done in a call to wire form. */
export function toOtherModels(models: readonly ModelUsage[]): OtherModel[] {
  return models.map(({ model, usage }) => ({
    model,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    ...(usage.cacheReadTokens > 0 && { cache_read_tokens: usage.cacheReadTokens }),
    ...(usage.cacheWriteTokens > 0 && { cache_write_tokens: usage.cacheWriteTokens }),
    ...(usage.cacheWrite1hTokens > 0 && { cache_write_1h_tokens: usage.cacheWrite1hTokens }),
    ...(usage.reasoningTokens > 0 && { reasoning_tokens: usage.reasoningTokens }),
    ...usage.details,
  }));
}

type Parts = Pick<Usage, "details" | "others" | "models">;
type WireParts =
  & { [Name in typeof USAGE_DETAILS[number]]?: number | undefined }
  & { other_counts?: Record<string, number> | undefined; other_models?: readonly OtherModel[] | undefined };

/** Reads the parts of a usage that most calls don't have from wire form, without those of 0. */
export function partsFromWire(wire: WireParts): Parts {
  const parts: Parts = {};
  let details: Record<string, number> | undefined;
  for (const name of USAGE_DETAILS) if (wire[name]) (details ??= {})[name] = wire[name];
  const others = Object.entries(wire.other_counts ?? {}).filter(([, count]) => count > 0);
  if (details) parts.details = details;
  if (others.length > 0) parts.others = Object.fromEntries(others);
  if (wire.other_models?.length) {
    parts.models = wire.other_models.map((one) => ({ model: one.model, usage: usageFromWire(one) }));
  }
  return parts;
}

/** Reads a usage from wire form. */
export const usageFromWire = (wire: Omit<OtherModel, "model"> & WireParts): Usage => ({
  inputTokens: wire.input_tokens,
  outputTokens: wire.output_tokens,
  cacheReadTokens: wire.cache_read_tokens ?? 0,
  cacheWriteTokens: wire.cache_write_tokens ?? 0,
  cacheWrite1hTokens: wire.cache_write_1h_tokens ?? 0,
  reasoningTokens: wire.reasoning_tokens ?? 0,
  ...partsFromWire(wire),
});
