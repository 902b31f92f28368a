import type { GenaiPrices, LitellmPrices } from "./price_data.ts";

/** Loads the prices of this release. Only code that prices calls should, since they are over a megabyte. */
export async function bundledPrices(): Promise<{ genai: GenaiPrices; litellm: LitellmPrices }> {
  const [genai, litellm] = await Promise.all([
    // @ts-types="./data/json.d.ts"
    import("./data/genai_prices.json", { with: { type: "json" } }),
    // @ts-types="./data/json.d.ts"
    import("./data/litellm_prices.json", { with: { type: "json" } }),
  ]);
  // The files are written by `deno task prices`, which checks them, and a test checks them again.
  return {
    genai: genai.default as unknown as GenaiPrices,
    litellm: litellm.default as unknown as LitellmPrices,
  };
}
