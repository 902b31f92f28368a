import assert from "node:assert/strict";
import { bundledPrices } from "./bundled_prices.ts";
import { parsePriceData } from "./parse_price_data.ts";
import type { PriceData } from "./price_data.ts";
import { refuseWrongUnits } from "./wrong_units.ts";

type Entry = [key: string, provider: string, usdPerToken: number];

/** LiteLLM's map, whose prices are per token. */
const mapOf = (...entries: readonly Entry[]) =>
  parsePriceData(
    JSON.stringify(Object.fromEntries(entries.map(([key, litellm_provider, input_cost_per_token]) => [
      key,
      { litellm_provider, mode: "chat", input_cost_per_token, output_cost_per_token: input_cost_per_token },
    ]))),
    { date: "2026-11-12" },
  );

/** genai-prices, whose prices are per million tokens. */
const genaiOf = (provider: string, id: string, input_mtok: number): PriceData =>
  parsePriceData(
    JSON.stringify([{
      id: provider,
      name: provider,
      models: [{ id, match: { equals: id }, prices: { input_mtok, output_mtok: input_mtok } }],
    }]),
    { date: "2026-11-10" },
  ).data;

const refusedOf = (parsed: ReturnType<typeof mapOf>, others: readonly PriceData[] = []) =>
  refuseWrongUnits(parsed, others).skipped.map(({ entry, reason }) => `${entry}: ${reason}`);

const NO_SECOND = "its price is over 1,000 USD per million tokens, and no second source has it";
const FAR_OFF = "its price differs from that of other providers by over 100 times";

Deno.test("a price of over 1,000 USD per million tokens is taken only with a second source", () => {
  // The map has Azure's price of 1,000 tokens, 0.0032 USD, as that of one.
  const jais: Entry = ["azure_ai/jais-30b-chat", "azure_ai", 0.0032];
  assert.deepEqual(refusedOf(mapOf(jais)), [`azure_ai/jais-30b-chat: ${NO_SECOND}`]);
  assert.deepEqual(refusedOf(mapOf(jais), [genaiOf("azure", "jais-30b-chat", 3.2)]), [
    `azure_ai/jais-30b-chat: ${NO_SECOND}`,
  ]);
  // Another provider of the same source is none: both may have copied it.
  assert.deepEqual(refusedOf(mapOf(jais, ["watsonx/core42/jais-30b-chat", "watsonx", 0.0032])).length, 2);
  assert.deepEqual(refusedOf(mapOf(jais), [genaiOf("azure", "jais-30b-chat", 3_000)]), []);
  assert.deepEqual(refusedOf(mapOf(["openai/o9-pro", "openai", 0.001])), []);
});

Deno.test("a rate of any kind counts: of a tier, a long context, a cache", () => {
  const fields = ["input_cost_per_token_priority", "cache_creation_input_token_cost"];
  for (const field of [...fields, "output_cost_per_token_above_200k_tokens"]) {
    const parsed = parsePriceData(
      JSON.stringify({
        m: {
          litellm_provider: "openai",
          mode: "chat",
          ...{ input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
          [field]: 0.002,
        },
      }),
      { date: "2026-11-12" },
    );
    assert.deepEqual(refusedOf(parsed), [`m: ${NO_SECOND}`], field);
  }
});

Deno.test("a price that is over 100 times that of the same model elsewhere is of another unit", () => {
  const dear: Entry = ["watsonx/meta/llama-9-70b", "watsonx", 0.0005];
  const siblings: Entry[] = [
    ["groq/llama-9-70b", "groq", 0.5e-6],
    ["bedrock/us.meta.llama-9-70b-v1:0", "bedrock", 0.7e-6],
  ];
  assert.deepEqual(refusedOf(mapOf(dear, ...siblings)), [`watsonx/meta/llama-9-70b: ${FAR_OFF}`]);
  assert.deepEqual(refusedOf(mapOf(dear), [genaiOf("together", "meta/Llama-9-70b", 0.6)]), [
    `watsonx/meta/llama-9-70b: ${FAR_OFF}`,
  ]);
  // Of two alone, the dearer one is taken for wrong; a cheap one among several is, too.
  const cheap: Entry = ["groq/llama-9-70b", "groq", 0.5e-9];
  assert.deepEqual(refusedOf(mapOf(cheap, siblings[1]!)), [`bedrock/us.meta.llama-9-70b-v1:0: ${FAR_OFF}`]);
  const third: Entry = ["deepinfra/llama-9-70b", "deepinfra", 0.6e-6];
  assert.deepEqual(refusedOf(mapOf(cheap, siblings[1]!, third)), [`groq/llama-9-70b: ${FAR_OFF}`]);
  // Providers may differ by 50 times, and names of other models say nothing.
  assert.deepEqual(refusedOf(mapOf(["watsonx/meta/llama-9-70b", "watsonx", 25e-6], ...siblings)), []);
  assert.deepEqual(refusedOf(mapOf(["watsonx/meta/llama-9-700b", "watsonx", 500e-6], ...siblings)), []);
});

Deno.test("the prices of this release hold no wrong unit, and lack those that the sources publish", async () => {
  const { genai, litellm } = await bundledPrices();
  assert.deepEqual(refuseWrongUnits({ data: litellm, skipped: [] }, [genai]).skipped, []);
  assert.deepEqual(refuseWrongUnits({ data: genai, skipped: [] }, [litellm]).skipped, []);
  for (const key of ["azure_ai/jais-30b-chat", "watsonx/core42/jais-13b-chat"]) {
    assert.ok(!Object.hasOwn(litellm.models, key), key);
  }
});
