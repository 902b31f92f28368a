import type {
  GenaiPrices,
  LitellmPrices,
  ModelPrices,
  PriceTable,
} from "../../src/pricing/catalog/price_data.ts";

/** A model with one price for its exact name. */
export function modelOf(
  id: string,
  prices: ModelPrices["prices"],
  more: Partial<ModelPrices> = {},
): ModelPrices {
  return { id, match: { equals: id }, prices, ...more };
}

/** A file of genai-prices with one provider. */
export function genaiOf(models: readonly ModelPrices[], more: Partial<GenaiPrices> = {}): GenaiPrices {
  return { source: "genai-prices", date: "2026-11-20", providers: [{ id: "openai", models }], ...more };
}

/** LiteLLM's map with chat models of OpenAI, by their prices in USD per token. */
export function litellmOf(models: Record<string, Record<string, number>>): LitellmPrices {
  return {
    source: "litellm",
    date: "2026-11-20",
    models: Object.fromEntries(
      Object.entries(models).map(([key, rates]) => [key, { litellm_provider: "openai", ...rates }]),
    ),
  };
}

/** A table of prices of input and output. */
export const inOut = (input: number, output: number): PriceTable => ({
  input_mtok: input,
  output_mtok: output,
});
