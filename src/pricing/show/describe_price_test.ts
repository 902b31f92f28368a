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

Deno.test("describePrice() shows the source of each rate, in each tier and service", () => {
  const { genai, litellm } = prices.listed;
  const [first, second] = [`genai-prices@${genai.date}`, `litellm@${litellm.date}`];
  // What LiteLLM's map has, in the sources' order; thinking has no rate of its own, and so that of the output.
  const gemini = describePrice(prices, { model: "google:gemini-3.8-flash", at });
  const rateOf = (served: string | undefined, part: string, above = 0) => {
    const { tiers } = served === undefined ? gemini : gemini.variants.find((one) => one.served === served)!;
    const { usd, source } = tiers.find(({ above_input_tokens }) => above_input_tokens === above)!.rates
      .find((one) => one.part === part)!;
    return [usd, source];
  };
  assert.equal(gemini.source, first);
  assert.deepEqual(rateOf(undefined, "input_tokens"), [0.75, first]);
  assert.deepEqual(rateOf(undefined, "reasoning_tokens"), [3.75, "rule"]);
  // 0.5x and 1.8x of the standard: https://ai.google.dev/gemini-api/docs/pricing (2026-11)
  assert.deepEqual(rateOf("service_tier=flex", "input_tokens"), [0.375, second]);
  assert.deepEqual(rateOf("service_tier=priority", "output_tokens"), [6.75, second]);
  assert.deepEqual(rateOf("service_tier=priority", "web_searches"), [14, first]);
  assert.deepEqual(rateOf("service_tier=batch", "input_tokens"), [0.375, first]);
});

Deno.test("describePrice() shows the source of a long context's rates where it is another one's", () => {
  const card = describePrice(prices, {
    model: "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    at: Date.parse("2026-02-01T00:00:00.000Z"),
  });
  const sources = card.tiers.map(({ above_input_tokens, rates }) => [
    above_input_tokens,
    rates.find(({ part }) => part === "input_tokens")!.source.split("@")[0],
  ]);
  assert.deepEqual(sources, [[0, "genai-prices"], [200_000, "litellm"]]);
});

Deno.test("describePrice() shows the rates of the config as those of the config", () => {
  const { tiers } = describePrice(prices, { model: "local:own", at });
  assert.deepEqual([...new Set(tiers[0]!.rates.map(({ source }) => source))], ["config"]);
});

Deno.test("describePrice() shows the end of a model", () => {
  const endOf = (model: string, time = at) => {
    const { ends_on, is_deprecated } = describePrice(prices, { model, at: time });
    return [ends_on, is_deprecated];
  };
  assert.deepEqual(endOf("openai:gpt-4"), ["2026-10-23", true]);
  assert.deepEqual(endOf("openai:gpt-4", Date.parse("2026-10-22T23:59:59.999Z")), ["2026-10-23", false]);
  assert.deepEqual(endOf("openai:gpt-5"), ["2026-12-11", false]);
  assert.deepEqual(endOf("google:gemini-2.0-flash-lite"), ["2026-06-01", true]);
  assert.deepEqual(endOf("voyageai:voyage-01"), [null, true]);
  assert.deepEqual(endOf("openai:gpt-5.6"), [null, false]);
});

Deno.test("describePrice() shows the rates of the region that a provider's address names", async () => {
  const google =
    "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/endpoints/openapi";
  const located = await openPrices({
    providers: { google: { baseUrl: google }, openai: { baseUrl: "https://eu.api.openai.com/v1" } },
  });
  const inputOf = (model: string) => describePrice(located, { model, at }).tiers[0]!.rates[0]!.usd;
  // 10% over the global endpoint: https://platform.claude.com/docs/en/about-claude/pricing#cloud-platform-pricing
  assert.equal(inputOf("google:claude-opus-5"), 5.5);
  // https://developers.openai.com/api/docs/pricing#regional-processing: 10% more since GPT-5.4
  assert.equal(inputOf("openai:gpt-5.6"), 4.4);
  assert.equal(inputOf("anthropic:claude-opus-5"), 5);
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

Deno.test("checkPrices() finds models that have ended, or end within 30 days", () => {
  const used = ["gpt-4", "gpt-5", "gpt-5.1", "gpt-5.6"].map((model) => ({ provider: "openai", model }));
  const endingAt = (time: string) =>
    checkPrices(prices, used, Date.parse(time)).ending.map(({ name, endsOn }) => `${name} ${endsOn}`);
  assert.deepEqual(endingAt("2026-11-20T12:00:00.000Z"), [
    "openai:gpt-4 2026-10-23",
    "openai:gpt-5 2026-12-11",
  ]);
  assert.deepEqual(endingAt("2026-11-10T12:00:00.000Z"), ["openai:gpt-4 2026-10-23"]);
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
