import assert from "node:assert/strict";
import { silentLog } from "../../kernel/log.ts";
import { bundledPrices } from "./bundled_prices.ts";
import { createCatalog } from "../catalog.ts";
import type { Served } from "../price_book.ts";

const catalog = createCatalog(await bundledPrices(), silentLog);
const NOW = "2026-11-20T12:00:00.000Z";

/** Input, cache read and output in pico-USD per token, and what is unknown. */
type Row = [
  rule: string,
  model: string,
  served: Served,
  input: bigint,
  cacheRead: bigint,
  output: bigint,
  unknown?: string,
];

const cases: Row[] = [
  // https://developers.openai.com/api/docs/pricing
  ["standard by its name", "openai:gpt-5.4", { serviceTier: "default" }, 2_500_000n, 250_000n, 15_000_000n],
  ["standard by auto", "openai:gpt-5.4", { serviceTier: "auto" }, 2_500_000n, 250_000n, 15_000_000n],
  ["flex as listed", "openai:gpt-5.4", { serviceTier: "flex" }, 1_250_000n, 130_000n, 7_500_000n],
  ["batch as listed", "openai:gpt-5.4", { serviceTier: "batch" }, 1_250_000n, 130_000n, 7_500_000n],
  ["priority as listed", "openai:gpt-5.4", { serviceTier: "priority" }, 5_000_000n, 500_000n, 30_000_000n],
  ["fast as priority", "openai:gpt-5.4", { serviceTier: "fast" }, 5_000_000n, 500_000n, 30_000_000n],
  [
    "scale without a price",
    "openai:gpt-5.4",
    { serviceTier: "scale" },
    2_500_000n,
    250_000n,
    15_000_000n,
    "service_tier",
  ],
  ["flex by the rule", "openai:gpt-4.1", { serviceTier: "flex" }, 1_000_000n, 250_000n, 4_000_000n],
  [
    "batch that keeps the cache",
    "openai:gpt-4o",
    { serviceTier: "batch" },
    1_250_000n,
    1_250_000n,
    5_000_000n,
  ],
  // https://platform.claude.com/docs/en/about-claude/pricing
  ["batch as listed", "anthropic:claude-opus-5", { serviceTier: "batch" }, 2_500_000n, 250_000n, 12_500_000n],
  [
    "standard by its name",
    "anthropic:claude-opus-5",
    { serviceTier: "standard", speed: "standard" },
    5_000_000n,
    500_000n,
    25_000_000n,
  ],
  [
    "committed capacity",
    "anthropic:claude-opus-5",
    { serviceTier: "priority" },
    5_000_000n,
    500_000n,
    25_000_000n,
    "service_tier",
  ],
  ["fast as listed", "anthropic:claude-opus-5", { speed: "fast" }, 10_000_000n, 1_000_000n, 50_000_000n],
  [
    "fast without a price",
    "anthropic:claude-sonnet-5",
    { speed: "fast" },
    2_000_000n,
    200_000n,
    10_000_000n,
    "speed",
  ],
  ["the USA at 1.1x", "anthropic:claude-opus-4-6", { inferenceGeo: "us" }, 5_500_000n, 550_000n, 27_500_000n],
  [
    "the USA at 1.1x of fast",
    "anthropic:claude-opus-5",
    { speed: "fast", inferenceGeo: "us" },
    11_000_000n,
    1_100_000n,
    55_000_000n,
  ],
  ["the world", "anthropic:claude-opus-5", { inferenceGeo: "global" }, 5_000_000n, 500_000n, 25_000_000n],
  [
    "no choice",
    "anthropic:claude-opus-4-5",
    { inferenceGeo: "not_available" },
    5_000_000n,
    500_000n,
    25_000_000n,
  ],
  [
    "the USA before Opus 4.6",
    "anthropic:claude-opus-4-5",
    { inferenceGeo: "us" },
    5_000_000n,
    500_000n,
    25_000_000n,
    "inference_geo",
  ],
  [
    "another region",
    "anthropic:claude-opus-5",
    { inferenceGeo: "eu" },
    5_000_000n,
    500_000n,
    25_000_000n,
    "inference_geo",
  ],
  // https://ai.google.dev/gemini-api/docs/pricing
  [
    "Gemini's standard",
    "google:gemini-2.5-flash",
    { serviceTier: "ON_DEMAND" },
    300_000n,
    30_000n,
    2_500_000n,
  ],
  [
    "Gemini's priority, which only LiteLLM's map lists",
    "google:gemini-2.5-flash",
    { serviceTier: "ON_DEMAND_PRIORITY" },
    540_000n,
    54_000n,
    4_500_000n,
  ],
  [
    "Gemini's flex as listed",
    "google:gemini-3.8-flash-tts",
    { serviceTier: "ON_DEMAND_FLEX" },
    250_000n,
    250_000n,
    4_500_000n,
  ],
  [
    "Gemini's priority as listed",
    "google:gemini-3.8-flash-tts",
    { serviceTier: "ON_DEMAND_PRIORITY" },
    900_000n,
    900_000n,
    16_200_000n,
  ],
  [
    "provisioned throughput",
    "google:gemini-2.5-flash",
    { serviceTier: "PROVISIONED_THROUGHPUT" },
    300_000n,
    30_000n,
    2_500_000n,
    "service_tier",
  ],
  [
    "batch as listed, with the cache at its price",
    "google:gemini-2.5-flash",
    { serviceTier: "batch" },
    150_000n,
    30_000n,
    1_250_000n,
  ],
  // No published rule.
  [
    "another provider's tier",
    "groq:llama-3.1-8b-instant",
    { serviceTier: "flex" },
    50_000n,
    50_000n,
    80_000n,
    "service_tier",
  ],
  [
    "the tier of another's model",
    "azure:claude-opus-5",
    { serviceTier: "batch" },
    5_000_000n,
    500_000n,
    25_000_000n,
    "service_tier",
  ],
];

for (const [rule, name, served, input, cacheRead, output, unknown] of cases) {
  Deno.test(`${name} is priced as ${rule}: ${Object.values(served).join(", ")}`, () => {
    const [provider = "", model = ""] = name.split(":");
    const card = catalog.rates({ provider, model, at: Date.parse(NOW), ...served })!;
    const tier = card.tiers[0]!;
    assert.deepEqual([tier.input, tier.cacheRead, tier.output], [input, cacheRead, output]);
    assert.deepEqual(card.unknown, unknown === undefined ? undefined : [unknown]);
  });
}

Deno.test("before a source lists a variant, the other one's holds, or the provider's rule", () => {
  const at = Date.parse("2026-10-01T00:00:00.000Z");
  const ratesOf = (model: string, serviceTier: string) =>
    catalog.rates({ provider: "openai", model, at, serviceTier })!;
  assert.equal(ratesOf("gpt-5.4", "flex").tiers[0]!.input, 1_250_000n);
  assert.equal(ratesOf("gpt-5.4", "batch").tiers[0]!.output, 7_500_000n);
  // In genai-prices from 2026-10-14 on; LiteLLM's map has no dates.
  assert.equal(ratesOf("gpt-5.4", "priority").tiers[0]!.input, 5_000_000n);
  assert.equal(ratesOf("gpt-4.1", "flex").tiers[0]!.input, 1_000_000n);
});

Deno.test("a discount or a surcharge never touches fees and searches", () => {
  const at = Date.parse("2026-11-20T00:00:00.000Z");
  for (const served of [{ serviceTier: "batch" }, { inferenceGeo: "us" }, { speed: "fast" }]) {
    const card = catalog.rates({ provider: "anthropic", model: "claude-opus-5", at, ...served })!;
    assert.equal(card.tiers[0]!.details!.web_searches, 10_000_000_000n);
  }
});
