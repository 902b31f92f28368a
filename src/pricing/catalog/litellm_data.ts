/** One model of LiteLLM: its provider, and rates in USD per token. */
export interface LitellmModel {
  litellm_provider: string;
  search_context_cost_per_query?: Readonly<Record<string, number>>;
  deprecation_date?: string;
  /** Multiples: `us` of Anthropic's inference in the USA, `fast` of its fast mode. */
  provider_specific_entry?: Readonly<Record<string, number>>;
  tiered_pricing?: readonly LitellmTier[];
  readonly [rate: string]: unknown;
}

/** One range of input tokens: from above the first to the second. */
export interface LitellmTier {
  range: readonly [number, number];
  readonly [rate: string]: unknown;
}
