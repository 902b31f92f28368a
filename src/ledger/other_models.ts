import type { OtherModel } from "../contract/usage.ts";
import { type ModelUsage, USAGE_DETAILS, usageOf } from "../pricing/mod.ts";

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

/** Reads what other models have done in a call from wire form. */
export function fromOtherModels(models: readonly OtherModel[]): ModelUsage[] {
  return models.map((one) => ({
    model: one.model,
    usage: usageOf({
      inputTokens: one.input_tokens,
      outputTokens: one.output_tokens,
      cacheReadTokens: one.cache_read_tokens,
      cacheWriteTokens: one.cache_write_tokens,
      cacheWrite1hTokens: one.cache_write_1h_tokens,
      reasoningTokens: one.reasoning_tokens,
      details: Object.fromEntries(USAGE_DETAILS.flatMap((name) => one[name] ? [[name, one[name]]] : [])),
    }),
  }));
}
