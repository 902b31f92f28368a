import assert from "node:assert/strict";
import { openPrices } from "../prices.ts";
import { checkPrices } from "./mod.ts";
import { describePrice } from "./mod.ts";

const at = Date.parse("2026-11-20T12:00:00.000Z");
const prices = await openPrices({
  overrides: [{ provider: "local", model: "own", input_usd_per_million: 1, output_usd_per_million: 2 }],
});

const NAMED: [model: string, provider: string | undefined, found: string, matched?: string][] = [
  ["gpt-5-mini", "openai", "openai:gpt-5-mini"],
  ["openai:gpt-5-mini", undefined, "openai:gpt-5-mini"],
  ["openai.chat:gpt-5-mini", undefined, "openai.chat:gpt-5-mini"],
  ["gpt-5-mini", undefined, "openai:gpt-5-mini"],
  ["claude-sonnet-4-5", undefined, "anthropic:claude-sonnet-4-5"],
  ["gemini-2.5-flash", undefined, "google:gemini-2.5-flash"],
  [
    "bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0",
    undefined,
    "bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0",
  ],
  ["ft:gpt-4o-2024-08-06:org::id", undefined, "openai:ft:gpt-4o-2024-08-06:org::id"],
  ["demo:echo", undefined, "demo:echo"],
  ["local:own", undefined, "local:own"],
  ["own", undefined, "local:own"],
];

for (const [model, provider, found] of NAMED) {
  Deno.test(`describePrice() finds ${model}${provider ? ` of ${provider}` : ""} as ${found}`, () => {
    const card = describePrice(prices, { model, provider, at });
    assert.equal(`${card.provider}:${card.model}`, found);
  });
}

Deno.test("describePrice() shows each rate, tier and variant exactly", () => {
  const { genai } = prices.listed;
  const card = describePrice(prices, { model: "openai:gpt-5.6", at });
  assert.deepEqual([card.source, card.matched_model], [`genai-prices@${genai.date}`, "gpt-5.6-sol"]);
  assert.deepEqual(card.tiers.map(({ above_input_tokens }) => above_input_tokens), [0, 272_000]);
  const usd = (tier: number, part: string) => card.tiers[tier]!.rates.find((rate) => rate.part === part);
  const { source } = card;
  assert.deepEqual(usd(0, "input_tokens"), { part: "input_tokens", usd: 4, per: 1_000_000, source });
  assert.deepEqual(usd(1, "output_tokens"), { part: "output_tokens", usd: 30, per: 1_000_000, source });
  assert.deepEqual(usd(0, "web_searches"), { part: "web_searches", usd: 10, per: 1_000, source });
  assert.deepEqual(card.variants.map(({ served }) => served), [
    "service_tier=flex",
    "service_tier=priority",
    "service_tier=batch",
    "inference_geo=us",
  ]);
  assert.ok(card.unpriced.includes("output_audio_tokens") && !card.unpriced.includes("input_tokens"));
  const flex = describePrice(prices, { model: "openai:gpt-5.6", at, serviceTier: "flex" });
  assert.deepEqual(flex.tiers, card.variants[0]!.tiers);
  assert.deepEqual(flex.variants, []);
  const scale = describePrice(prices, { model: "openai:gpt-5.6", at, serviceTier: "scale" });
  assert.ok(scale.unpriced.includes("service_tier"));
});

Deno.test("describePrice() shows the output of an embedding model as unpriced", () => {
  const { unpriced, tiers } = describePrice(prices, { model: "openai:text-embedding-3-small", at });
  assert.equal(unpriced[0], "output_tokens");
  assert.equal(tiers[0]!.rates[0]!.usd, 0.02);
});

Deno.test("describePrice() suggests the nearest known models, and none where none is near", () => {
  const refused = (model: string, provider?: string) => {
    try {
      describePrice(prices, { model, provider, at });
    } catch (error) {
      return error as Error & { code: string; details: { nearest: string[] } };
    }
    assert.fail(`${model} was found`);
  };
  const near = refused("openai:gpt-5-minni");
  assert.equal(near.code, "not_found");
  assert.equal(near.details.nearest[0], "openai:gpt-5-mini");
  assert.match(
    near.message,
    /^Cannot find a price of openai:gpt-5-minni; did you mean openai:gpt-5-mini or /,
  );
  assert.ok(refused("claude-sonet-4-5").details.nearest.includes("anthropic:claude-sonnet-4-5"));
  const far = refused("zzzzzzzzzzzzzzzz", "openai");
  assert.deepEqual([far.message, far.details.nearest], [
    "Cannot find a price of openai:zzzzzzzzzzzzzzzz",
    [],
  ]);
});

Deno.test("describePrice() refuses a bare name that several providers have", () => {
  assert.throws(() => describePrice(prices, { model: "llama-3.3-70b", at }), {
    code: "invalid",
    message:
      /^Cannot choose the provider of llama-3\.3-70b: .+, .+ have it; name one, as \w+:llama-3\.3-70b$/,
  });
});

Deno.test("checkPrices() finds models without a price, and those whose sources differ", () => {
  const { unpriced, disputed } = checkPrices(prices, [
    { provider: "openai", model: "gpt-5-minni" },
    { provider: "openai", model: "gpt-4o" },
    { provider: "local", model: "own" },
    ...prices.catalog.compareSources(at).slice(0, 1),
  ], at);
  assert.deepEqual(unpriced.map(({ name, nearest }) => [name, nearest[0]]), [[
    "openai:gpt-5-minni",
    "gpt-5-mini",
  ]]);
  assert.equal(disputed.length, 1);
  const { genaiUsd, litellmUsd } = disputed[0]!.differences[0]!;
  assert.ok(Math.abs(genaiUsd - litellmUsd) > 0.01 * Math.max(genaiUsd, litellmUsd));
});
