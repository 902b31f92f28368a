import assert from "node:assert/strict";
import { calcPrice, findProvider, type ModelInfo, type Provider } from "@pydantic/genai-prices";
import { silentLog } from "../kernel/log.ts";
import config from "../../deno.json" with { type: "json" };
import { CATALOG_SOURCE, CATALOG_VERSION, createCatalog, openCatalog } from "./catalog.ts";
import { priceUsage, tierFor } from "./rates.ts";
import { usageOf } from "./usage/usage.ts";

const AT = Date.parse("2026-11-01T12:00:00.000Z");

Deno.test("the catalog's version is the one that deno.json pins", () => {
  assert.equal(config.imports["@pydantic/genai-prices"], `npm:@pydantic/genai-prices@${CATALOG_VERSION}`);
});

Deno.test("the catalog gives whole pico-USD per token", async () => {
  const catalog = await openCatalog(silentLog);
  assert.deepEqual(catalog.rates("openai", "gpt-4o-mini-2024-07-18", AT), {
    source: CATALOG_SOURCE,
    tiers: [{
      aboveInputTokens: -1,
      input: 150_000n,
      output: 600_000n,
      reasoning: 600_000n,
      cacheRead: 75_000n,
      cacheWrite: 150_000n,
      cacheWrite1h: 150_000n,
    }],
  });
});

Deno.test("the catalog's tiers begin above their threshold", async () => {
  const rates = (await openCatalog(silentLog)).rates("anthropic", "claude-sonnet-4-5", AT)!;
  assert.equal(tierFor(rates, 0).input, 3_000_000n);
  assert.equal(tierFor(rates, 200_000).input, 3_000_000n);
  assert.equal(tierFor(rates, 200_001).input, 6_000_000n);
  assert.equal(tierFor(rates, 200_001).cacheWrite1h, 12_000_000n);
});

Deno.test("the catalog's prices change by date", async () => {
  const catalog = await openCatalog(silentLog);
  const before = catalog.rates("openai", "o3", Date.parse("2025-06-09T23:59:59.999Z"))!;
  const after = catalog.rates("openai", "o3", Date.parse("2025-06-10T00:00:00.000Z"))!;
  assert.equal(before.tiers[0]!.input, 10_000_000n);
  assert.equal(after.tiers[0]!.input, 2_000_000n);
});

Deno.test("the catalog knows a provider only by its exact id", async () => {
  const catalog = await openCatalog(silentLog);
  for (const provider of ["my-openai", "OpenAI", "openai-clone", "local", "litellm", ""]) {
    assert.equal(catalog.rates(provider, "gpt-4o", AT), null, provider);
  }
  assert.equal(catalog.rates("openai", "my-gpt-4o-clone", AT), null);
  assert.ok(catalog.rates("groq", "llama-3.1-8b-instant", AT));
});

Deno.test("the catalog takes Gemini's models with and without their prefix", async () => {
  const catalog = await openCatalog(silentLog);
  assert.ok(catalog.rates("google", "models/gemini-2.5-pro", AT));
});

Deno.test("the catalog's integers agree with its own floats for every model of the large providers", async () => {
  const catalog = await openCatalog(silentLog);
  const usage = usageOf({
    inputTokens: 250_001,
    outputTokens: 70_003,
    cacheReadTokens: 31_007,
    cacheWriteTokens: 11_003,
    reasoningTokens: 5_009,
  });
  let compared = 0;
  for (
    const providerId of ["openai", "anthropic", "google", "groq", "deepseek", "mistral", "openrouter", "x-ai"]
  ) {
    for (const { id } of findProvider({ providerId })!.models) {
      const rates = catalog.rates(providerId, id, AT);
      const costNanoUsd = rates && priceUsage(rates, usage);
      if (costNanoUsd === null) continue;
      const float = calcPrice(
        {
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cache_read_tokens: usage.cacheReadTokens,
          cache_write_tokens: usage.cacheWriteTokens,
          output_reasoning_tokens: usage.reasoningTokens,
        },
        id,
        { providerId, timestamp: new Date(AT) },
      )!;
      // Where the catalog lacks Claude's price of cache writes, ours is Anthropic's rule.
      if (id.includes("claude") && float.model_price.cache_write_mtok === undefined) continue;
      // Half a nano-USD of rounding, and of a price such as 0.08333333333333334 what is under a pico-USD per token.
      const differenceNanoUsd = Math.abs(Number(costNanoUsd) - float.total_price * 1e9);
      assert.ok(differenceNanoUsd < 10, `${providerId}:${id} differs by ${differenceNanoUsd}`);
      compared++;
    }
  }
  assert.ok(compared > 500);
});

/** A catalog of one model, through the real search and the real constraints. */
function catalogOf(prices: ModelInfo["prices"], id = "m") {
  const provider: Provider = {
    id: "p",
    name: "P",
    api_pattern: "p",
    models: [{ id, match: { equals: "m" }, prices }],
  };
  let lookups = 0;
  const catalog = createCatalog({
    findProvider: ({ providerId }) => providerId === "p" ? provider : findProvider({ providerId }),
    calcPrice: (usage, model, options) => {
      lookups++;
      return calcPrice(usage, model, { ...options, provider });
    },
  }, silentLog);
  return { catalog, lookups: () => lookups };
}

Deno.test("the catalog looks a model up once a day", () => {
  const { catalog, lookups } = catalogOf({ input_mtok: 1, output_mtok: 2 });
  for (const time of ["00:00:00.000", "12:00:00.000", "23:59:59.999"]) {
    catalog.rates("p", "m", Date.parse(`2026-01-01T${time}Z`));
  }
  assert.equal(lookups(), 1);
  catalog.rates("p", "m", Date.parse("2026-01-02T00:00:00.000Z"));
  assert.equal(lookups(), 2);
});

Deno.test("the catalog respects prices of the hour, to the millisecond and past midnight", () => {
  const { catalog, lookups } = catalogOf([
    { prices: { input_mtok: 1 } },
    {
      constraint: { type: "time_of_date", start_time: "16:30:00Z", end_time: "08:30:00+08:00" },
      prices: { input_mtok: 0.5 },
    },
  ]);
  const inputAt = (time: string) =>
    catalog.rates("p", "m", Date.parse(`2026-01-02T${time}Z`))!.tiers[0]!.input;
  for (let round = 0; round < 2; round++) {
    assert.equal(inputAt("00:00:00.000"), 500_000n);
    assert.equal(inputAt("00:29:59.999"), 500_000n);
    assert.equal(inputAt("00:30:00.000"), 1_000_000n);
    assert.equal(inputAt("16:29:59.999"), 1_000_000n);
    assert.equal(inputAt("16:30:00.000"), 500_000n);
    assert.equal(inputAt("23:59:59.999"), 500_000n);
  }
  assert.equal(lookups(), 3);
});

Deno.test("the catalog fills in what a cache costs", () => {
  const plain = catalogOf({ input_mtok: 4, output_mtok: 8 }).catalog.rates("p", "m", AT)!.tiers[0]!;
  assert.equal(plain.cacheRead, 4_000_000n);
  assert.equal(plain.cacheWrite, 4_000_000n);
  assert.equal(plain.cacheWrite1h, 4_000_000n);
  const claude = catalogOf({ input_mtok: 4, output_mtok: 8 }, "claude-next").catalog.rates("p", "m", AT)!
    .tiers[0]!;
  assert.equal(claude.cacheWrite, 5_000_000n);
  assert.equal(claude.cacheWrite1h, 8_000_000n);
});

Deno.test("the catalog prices reasoning apart where it has a price of its own", () => {
  const prices = { input_mtok: 1, output_mtok: 2, output_reasoning_mtok: 3 };
  const tier = catalogOf(prices).catalog.rates("p", "m", AT)!.tiers[0]!;
  assert.equal(tier.output, 2_000_000n);
  assert.equal(tier.reasoning, 3_000_000n);
});

Deno.test("the catalog has no rates where it has no token price", () => {
  assert.equal(catalogOf({}).catalog.rates("p", "m", AT), null);
  assert.equal(catalogOf({ input_mtok: 0.02 }).catalog.rates("p", "m", AT)!.tiers[0]!.output, null);
});

Deno.test("the catalog warns of an entry that it cannot read, and leaves it unpriced", () => {
  const warnings: string[] = [];
  const broken = createCatalog({
    findProvider: () => ({ id: "p" }) as Provider,
    calcPrice: () => {
      throw new Error("Invalid price value");
    },
  }, { ...silentLog, warn: (message) => void warnings.push(message) });
  assert.equal(broken.rates("p", "m", AT), null);
  assert.equal(broken.rates("p", "m", AT), null);
  assert.equal(warnings.length, 1);
});
