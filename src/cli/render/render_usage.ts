import { formatCost, nameUncounted } from "./format_cost.ts";
import { formatCount } from "./format_values.ts";

/** The usage counters of agents, sessions and runs. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  cache_read_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  model_calls: number;
  unpriced_calls: number;
  partly_priced_calls: number;
  plan_usd?: number | null | undefined;
}

/** Returns usage as fields for `renderFields`. */
export function usageFields(usage: Usage): Record<string, string> {
  const input = [
    usage.cache_read_tokens > 0 ? `${formatCount(usage.cache_read_tokens)} read from cache` : "",
    usage.cache_write_tokens > 0 ? `${formatCount(usage.cache_write_tokens)} written to it` : "",
  ].filter(Boolean).join(", ");
  const output = usage.reasoning_tokens > 0 ? `${formatCount(usage.reasoning_tokens)} for reasoning` : "";
  const { unpriced_calls: unpriced, partly_priced_calls: partlyPriced } = usage;
  const uncounted = usage.cost_usd === null ? "" : nameUncounted({ unpriced, partlyPriced });
  const withDetail = (text: string, detail: string) => (detail ? `${text} (${detail})` : text);
  return {
    "Model calls": formatCount(usage.model_calls),
    "Tokens": `${withDetail(`${formatCount(usage.input_tokens)} in`, input)}, ` +
      withDetail(`${formatCount(usage.output_tokens)} out`, output),
    "Cost": withDetail(formatCost(usage.cost_usd), uncounted),
    ...(usage.plan_usd && { "Plan value": formatCost(usage.plan_usd) }),
  };
}
