import assert from "node:assert/strict";
import { silentLog } from "../kernel/log.ts";
import { bundledPrices } from "./catalog/bundled_prices.ts";
import type { GenaiPrices, ModelPrices } from "./catalog/price_data.ts";
import { providerIdOfLitellm } from "./catalog/names/provider_names.ts";
import { createCatalog } from "./catalog.ts";
import { type Rates, tierFor } from "./rates.ts";
import { priceUsage } from "./price_usage.ts";
import { type Usage, usageOf } from "./usage/usage.ts";

const AT = Date.parse("2026-11-20T12:00:00.000Z");
const catalog = createCatalog(await bundledPrices(), silentLog);
const { genai, litellm } = await bundledPrices();

function rates(provider: string, model: string, served: Parameters<typeof catalog.rates>[0] | object = {}) {
  return catalog.rates({ provider, model, at: AT, ...served });
}

function costOf(card: Rates | null, usage: Partial<Usage>) {
  return card && priceUsage(card, usageOf(usage)).costNanoUsd;
}

Deno.test("the catalog gives whole pico-USD per token, and names the date of its source", () => {
  assert.deepEqual(rates("openai", "gpt-4o-mini-2024-07-18"), {
    source: `genai-prices@${genai.date}`,
    model: "gpt-4o-mini",
    tiers: [{
      aboveInputTokens: -1,
      input: 150_000n,
      output: 600_000n,
      reasoning: 600_000n,
      cacheRead: 75_000n,
      cacheWrite: 150_000n,
      cacheWrite1h: 150_000n,
      details: {
        input_image_tokens: 150_000n,
        cache_read_image_tokens: 75_000n,
        input_video_tokens: 150_000n,
        web_searches: 10_000_000_000n,
        file_searches: 2_500_000_000n,
      },
    }],
  });
});

const thresholds: [provider: string, model: string, last: number, below: bigint, above: bigint][] = [
  // "Prompts with more than 272K input tokens": exactly 272,000 cost the base price.
  ["openai", "gpt-5.4", 272_000, 2_500_000n, 5_000_000n],
  ["openai", "gpt-5.5", 272_000, 5_000_000n, 10_000_000n],
  ["openai", "gpt-5.6", 272_000, 4_000_000n, 8_000_000n],
  // xAI's boundary is inclusive: ">= 200k prompt tokens".
  ["x-ai", "grok-4.3", 199_999, 1_250_000n, 2_500_000n],
  ["anthropic", "claude-sonnet-4-5", 200_000, 3_000_000n, 6_000_000n],
  ["google", "gemini-2.5-pro", 200_000, 1_250_000n, 2_500_000n],
];

for (const [provider, model, last, below, above] of thresholds) {
  Deno.test(`the catalog prices ${model} at its base price up to ${last} input tokens`, () => {
    const card = rates(provider, model)!;
    assert.equal(tierFor(card, last).input, below);
    assert.equal(tierFor(card, last + 1).input, above);
  });
}

Deno.test("the catalog's prices change by date", () => {
  const before = rates("openai", "o3", { at: Date.parse("2025-06-09T23:59:59.999Z") })!;
  const after = rates("openai", "o3", { at: Date.parse("2025-06-10T00:00:00.000Z") })!;
  assert.equal(before.tiers[0]!.input, 10_000_000n);
  assert.equal(after.tiers[0]!.input, 2_000_000n);
});

Deno.test("the catalog takes the second source by exact key, only where the first knows nothing", () => {
  assert.equal(rates("deepinfra", "deepseek-ai/DeepSeek-V3")!.source, `litellm@${litellm.date}`);
  assert.equal(rates("azure", "azure_ai/mistral-large-3")!.source, `litellm@${litellm.date}`);
  assert.equal(rates("azure_ai", "mistral-large-3")!.source, `litellm@${litellm.date}`);
  assert.equal(rates("openai", "ft:gpt-4.1-2025-04-14:org::id")!.source, `litellm@${litellm.date}`);
  assert.equal(rates("openai", "gpt-5.4")!.source, `genai-prices@${genai.date}`);
  assert.equal(rates("deepinfra", "deepseek-ai/DeepSeek-V3-20260101"), null);
  assert.equal(rates("openai", "deepinfra/deepseek-ai/DeepSeek-V3"), null);
});

Deno.test("every entry of both sources becomes a rate card, in integers", () => {
  for (const { id, models } of genai.providers) {
    for (const model of models) {
      const card = createCatalog({ genai: { ...genai, providers: [{ id, models: [model] }] } }, silentLog)
        .rates({ provider: id, model: model.id, at: AT });
      assert.ok(card, `${id}:${model.id}`);
    }
  }
  const second = createCatalog({ litellm }, silentLog);
  for (const [key, { litellm_provider }] of Object.entries(litellm.models)) {
    const card = second.rates({ provider: providerIdOfLitellm(litellm_provider), model: key, at: AT });
    assert.ok(card, key);
    for (const tier of card.tiers) assert.equal(typeof tier.input, "bigint");
  }
});

Deno.test("a name of the catalog with anything behind it is unpriced", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  let tried = 0;
  for (const { id, models } of genai.providers) {
    const names = new Set(models.map((model) => model.id.toLowerCase()));
    for (const model of models) {
      const suffix = "-" + Array.from({ length: 3 + random(6) }, () => letters[random(38)]).join("") + "x";
      if (names.has(model.id.toLowerCase() + suffix) || /ft[-:]/.test(model.id)) continue;
      assert.equal(rates(id, model.id + suffix), null, `${id}:${model.id}${suffix}`);
      tried++;
    }
  }
  assert.ok(tried > 1_900);
});

Deno.test("a name of the catalog with another number behind it is unpriced, unless it is listed", () => {
  for (const { id, models } of genai.providers) {
    for (const { id: name } of models.slice(0, 30)) {
      for (const number of ["-2", "-9", ".7", "-17", "-v7"]) {
        const next = name + number;
        if (rates(id, next) === null) continue;
        assert.equal(catalog.nearest(id, next)[0], next.toLowerCase(), `${id}:${next}`);
      }
    }
  }
});

Deno.test("an unknown model gets suggestions, at most three", () => {
  assert.equal(rates("openai", "gpt-5-mni"), null);
  const nearest = catalog.nearest("OpenAI", "gpt-5-mni");
  assert.equal(nearest[0], "gpt-5-mini");
  assert.equal(nearest.length, 3);
  assert.deepEqual(catalog.nearest("local", "gpt-5"), []);
});

Deno.test("the sources are compared where both know a model", () => {
  const differences = catalog.compareSources(AT);
  assert.ok(differences.length > 0);
  for (const { genaiUsd, litellmUsd } of differences) {
    assert.ok(Math.abs(genaiUsd - litellmUsd) > 0.01 * Math.min(genaiUsd, litellmUsd));
  }
});

/** A catalog of one model `m` of the provider `p`. */
function catalogOf(prices: ModelPrices["prices"], model: Partial<ModelPrices> = {}, provider = "p") {
  let reads = 0;
  const data: GenaiPrices = {
    source: "genai-prices",
    date: "2026-01-01",
    providers: [{
      id: provider,
      models: [{
        id: "m",
        match: { equals: "m" },
        get prices() {
          reads++;
          return prices;
        },
        ...model,
      }],
    }],
  };
  return { catalog: createCatalog({ genai: data }, silentLog), reads: () => reads };
}

Deno.test("the catalog computes a card once a day and service", () => {
  const { catalog, reads } = catalogOf({ input_mtok: 1, output_mtok: 2 });
  const times = ["00:00:00.000", "12:00:00.000", "23:59:59.999"].map((time) =>
    Date.parse(`2026-01-01T${time}Z`)
  );
  catalog.rates({ provider: "p", model: "m", at: times[0]! });
  const first = reads();
  for (const at of times) catalog.rates({ provider: "p", model: "m", at });
  assert.equal(reads(), first);
  for (const at of times) catalog.rates({ provider: "p", model: "m", at, serviceTier: "flex" });
  const served = reads();
  assert.ok(served > first);
  catalog.rates({ provider: "p", model: "m", at: times[0]!, serviceTier: "flex" });
  assert.equal(reads(), served);
});

Deno.test("the catalog respects prices of the hour, to the millisecond and past midnight", () => {
  const { catalog } = catalogOf([
    { prices: { input_mtok: 1 } },
    {
      constraint: { type: "time_of_date", start_time: "16:30:00Z", end_time: "08:30:00+08:00" },
      prices: { input_mtok: 0.5 },
    },
  ]);
  const inputAt = (time: string) =>
    catalog.rates({ provider: "p", model: "m", at: Date.parse(`2026-01-02T${time}Z`) })!.tiers[0]!.input;
  for (let round = 0; round < 2; round++) {
    assert.equal(inputAt("00:00:00.000"), 500_000n);
    assert.equal(inputAt("00:29:59.999"), 500_000n);
    assert.equal(inputAt("00:30:00.000"), 1_000_000n);
    assert.equal(inputAt("16:29:59.999"), 1_000_000n);
    assert.equal(inputAt("16:30:00.000"), 500_000n);
    assert.equal(inputAt("23:59:59.999"), 500_000n);
  }
});

Deno.test("allRates() has the price of the next 15 minutes too", () => {
  const { catalog } = catalogOf([
    { prices: { input_mtok: 1 } },
    { constraint: { type: "start_date", start_date: "2026-02-01" }, prices: { input_mtok: 3 } },
  ]);
  const inputs = (time: string) =>
    catalog.allRates({ provider: "p", model: "m", at: Date.parse(time) }).map(({ tiers }) => tiers[0]!.input);
  assert.deepEqual(inputs("2026-01-31T23:44:59.999Z"), [1_000_000n]);
  assert.deepEqual(inputs("2026-01-31T23:45:00.000Z"), [1_000_000n, 3_000_000n]);
  assert.deepEqual(inputs("2026-02-01T00:00:00.000Z"), [3_000_000n]);
});

Deno.test("allRates() has the tiers that a project's default can choose, and a workspace's region", () => {
  const inputs = (provider: string, model: string) =>
    catalog.allRates({ provider, model, at: AT }).map(({ tiers }) => tiers[0]!.input);
  // Standard, flex, priority and fast.
  assert.deepEqual(inputs("openai", "gpt-5.4"), [2_500_000n, 1_250_000n, 5_000_000n, 5_000_000n]);
  assert.deepEqual(inputs("anthropic", "claude-opus-5"), [5_000_000n, 5_500_000n]);
  assert.deepEqual(inputs("deepseek", "deepseek-chat").length, 1);
  assert.deepEqual(catalog.allRates({ provider: "local", model: "m", at: AT }), []);
});

Deno.test("the catalog warns of an entry that it cannot read, and leaves it unpriced", () => {
  const warnings: string[] = [];
  const broken = {
    source: "genai-prices",
    date: "2026-01-01",
    providers: [{ id: "p", models: [{ id: "m", match: { equals: "m" }, prices: { input_mtok: "x" } }] }],
  };
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const catalog = createCatalog({ genai: broken as unknown as GenaiPrices }, log);
  assert.equal(catalog.rates({ provider: "p", model: "m", at: AT }), null);
  assert.equal(catalog.rates({ provider: "p", model: "m", at: AT }), null);
  assert.equal(warnings.length, 1);
});

Deno.test("a call is billed by its card to the nano-USD", () => {
  // 1,000 x 2.50 + 200 x 0.25 + 100 x 15.00 per million, and 2 searches of 0.01.
  const card = rates("openai", "gpt-5.4");
  const usage = { inputTokens: 1_200, cacheReadTokens: 200, outputTokens: 100, details: { web_searches: 2 } };
  assert.equal(costOf(card, usage), 24_050_000n);
});

Deno.test("a call with the name of an object's property for its provider, model, tier, speed or region is priced like any other", () => {
  for (const name of ["constructor", "__proto__", "toString"]) {
    assert.equal(rates(name, "gpt-5-mini"), null);
    assert.equal(rates("openai", name), null);
    assert.deepEqual(rates("openai", "gpt-5-mini", { serviceTier: name })?.unknown, ["service_tier"]);
    const speed = rates("anthropic", "claude-opus-4-6", { speed: name, inferenceGeo: name });
    assert.deepEqual(speed?.unknown, ["speed", "inference_geo"]);
  }
});

Deno.test("the catalog bounds a call by the tier that it asks for, and by a region that it can't show", () => {
  const highest = (provider: string, model: string, served = {}) =>
    catalog.allRates({ provider, model, at: AT, ...served })
      .map(({ tiers }) => Number(tiers[0]!.input) / 1e6).sort((a, b) => b - a)[0];
  // Gemini's priority costs 1.8x: https://ai.google.dev/gemini-api/docs/pricing; nothing but the call can choose it.
  assert.equal(highest("google", "gemini-3.8-flash"), 0.75);
  assert.equal(highest("google", "gemini-3.8-flash", { serviceTier: "priority" }), 1.35);
  // Azure's deployments can have priority as their default.
  assert.equal(highest("azure", "gpt-5.6"), 8);
  // A region of Vertex costs 1.1x of the global endpoint for Claude, and a call by name alone doesn't show it.
  assert.equal(highest("google-vertex", "claude-opus-5"), 5.5);
  assert.equal(highest("google-vertex", "claude-opus-5", { inferenceGeo: "us-east5" }), 5.5);
  assert.equal(highest("google-vertex", "claude-opus-5", { inferenceGeo: "global" }), 5);
  // A default tier, and the workspace's default region, come on top of what is requested.
  assert.equal(highest("openai", "gpt-5.6", { inferenceGeo: "eu" }), 8.8);
  assert.equal(highest("anthropic", "claude-opus-5", { speed: "fast" }), 11);
});

Deno.test("the catalog knows the end of a model, where the data has it", () => {
  const endOf = (provider: string, model: string) => catalog.endOf({ provider, model, at: AT });
  // https://developers.openai.com/api/docs/deprecations
  assert.deepEqual(endOf("openai", "gpt-4"), { endsOn: "2026-10-23", isDeprecated: false });
  // An alias ends with its model, and a service may end a model later than its maker.
  assert.deepEqual(endOf("azure_ai", "gpt-oss-120b").endsOn, "2027-09-15");
  assert.deepEqual(endOf("google", "gemini-2.0-flash").isDeprecated, true);
  assert.deepEqual(endOf("openai", "gpt-5.6"), { isDeprecated: false });
  assert.deepEqual(endOf("openai", "gpt-9000"), { isDeprecated: false });
});
