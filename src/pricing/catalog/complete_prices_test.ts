import assert from "node:assert/strict";
import { silentLog } from "../../kernel/log.ts";
import { createCatalog } from "../catalog.ts";
import type { Served } from "../price_book.ts";
import { tierFor } from "../rates.ts";
import { parsePriceData } from "./parse_price_data.ts";
import type { GenaiPrices, LitellmPrices } from "./price_data.ts";

const at = Date.parse("2026-11-20T12:00:00.000Z");
const GENAI = "genai-prices@2026-11-10";
const LITELLM = "litellm@2026-11-12";

/** A catalog of one model, openai:m: genai-prices per million tokens, LiteLLM's map per token. */
function catalogOf(
  { prices, variants = [], entry }: {
    prices: unknown;
    variants?: unknown[];
    entry: Record<string, unknown>;
  },
) {
  const model = { id: "m", match: { equals: "m" }, prices, price_variants: variants };
  const genai = parsePriceData(JSON.stringify([{ id: "openai", models: [model] }]), { date: "2026-11-10" });
  const litellm = parsePriceData(
    JSON.stringify({ m: { litellm_provider: "openai", mode: "chat", ...entry } }),
    { date: "2026-11-12" },
  );
  assert.deepEqual([genai.skipped, litellm.skipped], [[], []]);
  const catalog = createCatalog(
    { genai: genai.data as GenaiPrices, litellm: litellm.data as LitellmPrices },
    silentLog,
  );
  return (served: Served = {}, { tokens = 1, time = at } = {}) => {
    const card = catalog.rates({ provider: "openai", model: "m", at: time, ...served })!;
    const { input, output, cacheRead, cacheWrite, details = {}, sources = {} } = tierFor(card, tokens);
    const usd = (rate: bigint | null | undefined) => rate == null ? null : Number(rate) / 1e6;
    return {
      source: card.source,
      input: usd(input),
      output: usd(output),
      cacheRead: usd(cacheRead),
      cacheWrite: usd(cacheWrite),
      searches: usd(details.web_searches),
      sources,
    };
  };
}

Deno.test("a tier of the other source costs the multiple that it has there, at the standard rates that are in use", () => {
  // The provider has halved its prices since LiteLLM's day: flex is half of what is valid, not of what was.
  const rates = catalogOf({
    prices: { input_mtok: 2, output_mtok: 8 },
    entry: {
      ...{ input_cost_per_token: 4e-6, output_cost_per_token: 20e-6 },
      ...{ input_cost_per_token_flex: 2e-6, output_cost_per_token_flex: 10e-6 },
    },
  });
  const { input, output, source, sources } = rates({ serviceTier: "flex" });
  assert.deepEqual([input, output, source, sources], [1, 4, LITELLM, {}]);
  assert.deepEqual([rates().input, rates().source], [2, GENAI]);
});

Deno.test("each missing rate is filled in, and the others stay", () => {
  const rates = catalogOf({
    prices: { input_mtok: 2, output_mtok: 8, cache_read_mtok: 0.5 },
    entry: {
      ...{ input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
      ...{ cache_read_input_token_cost: 0.1e-6, cache_creation_input_token_cost: 2.5e-6 },
      search_context_cost_per_query: { search_context_size_medium: 0.03 },
    },
  });
  assert.deepEqual(rates(), {
    ...{ source: GENAI, input: 2, output: 8, cacheRead: 0.5, cacheWrite: 2.5 },
    // 0.03 USD for each search, in any currency of tokens.
    searches: 30_000,
    sources: { cache_write_tokens: LITELLM, web_searches: LITELLM },
  });
});

Deno.test("a fee is no multiple: it is taken as it is", () => {
  const rates = catalogOf({
    prices: { input_mtok: 1, output_mtok: 4 },
    entry: {
      ...{ input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
      search_context_cost_per_query: { search_context_size_medium: 0.01 },
    },
  });
  assert.equal(rates().searches, 10_000);
});

Deno.test("the map's 0 is no price of a part", () => {
  const rates = catalogOf({
    prices: { input_mtok: 2, output_mtok: 8 },
    entry: {
      ...{ input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
      ...{ cache_read_input_token_cost: 0, input_cost_per_token_flex: 0 },
    },
  });
  assert.equal(rates().cacheRead, 2);
  assert.deepEqual(rates().sources, {});
  // OpenAI's rule: flex costs half. https://developers.openai.com/api/docs/pricing
  assert.deepEqual([rates({ serviceTier: "flex" }).input, rates({ serviceTier: "flex" }).source], [1, GENAI]);
});

Deno.test("a long context of the other source costs its multiple, and is shown as that source's alone", () => {
  const rates = catalogOf({
    prices: { input_mtok: 2, output_mtok: 8 },
    entry: {
      ...{ input_cost_per_token: 4e-6, output_cost_per_token: 16e-6 },
      ...{
        input_cost_per_token_above_200k_tokens: 8e-6,
        output_cost_per_token_above_200k_tokens: 24e-6,
      },
    },
  });
  const short = rates({}, { tokens: 200_000 });
  assert.deepEqual([short.input, short.output, short.source, short.sources], [2, 8, GENAI, {}]);
  const long = rates({}, { tokens: 200_001 });
  assert.deepEqual([long.input, long.output, long.source], [4, 12, GENAI]);
  assert.deepEqual(long.sources, { input_tokens: LITELLM, output_tokens: LITELLM });
  // A tier by rule follows: half of each.
  assert.equal(rates({ serviceTier: "flex" }, { tokens: 200_001 }).input, 2);
});

Deno.test("a tier without rates of its own for a long context has its multiple there", () => {
  const rates = catalogOf({
    prices: {
      input_mtok: { base: 2, tiers: [{ start: 200_000, price: 4 }] },
      output_mtok: { base: 8, tiers: [{ start: 200_000, price: 12 }] },
    },
    entry: {
      ...{ input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
      ...{ input_cost_per_token_priority: 3.6e-6, output_cost_per_token_priority: 14.4e-6 },
    },
  });
  const priority = rates({ serviceTier: "priority" }, { tokens: 200_001 });
  assert.deepEqual([priority.input, priority.output], [7.2, 21.6]);
});

Deno.test("what a source has at another time isn't taken from the other one: it says that there was none", () => {
  const rates = catalogOf({
    prices: [
      { prices: { input_mtok: 2, output_mtok: 8 } },
      {
        constraint: { start_date: "2026-06-01" },
        prices: { input_mtok: 2, output_mtok: 8, cache_read_mtok: 0.2 },
      },
    ],
    entry: {
      ...{ input_cost_per_token: 2e-6, output_cost_per_token: 8e-6, cache_read_input_token_cost: 0.2e-6 },
    },
  });
  assert.equal(rates({}, { time: Date.parse("2026-05-31T23:59:59.999Z") }).cacheRead, 2);
  assert.equal(rates({}, { time: Date.parse("2026-06-01T00:00:00.000Z") }).cacheRead, 0.2);
});

Deno.test("a multiple of the other source follows the dates of the standard rates", () => {
  const rates = catalogOf({
    prices: [
      { prices: { input_mtok: 4, output_mtok: 16 } },
      { constraint: { start_date: "2026-06-01" }, prices: { input_mtok: 2, output_mtok: 8 } },
    ],
    entry: {
      ...{ input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
      ...{ input_cost_per_token_priority: 3.5e-6, output_cost_per_token_priority: 14e-6 },
    },
  });
  const before = rates({ serviceTier: "priority" }, { time: Date.parse("2026-05-31T23:59:59.999Z") });
  assert.deepEqual([before.input, rates({ serviceTier: "priority" }).input], [7, 3.5]);
});

Deno.test("a tier of both sources has the rates of the first, and what it lacks of the other", () => {
  const rates = catalogOf({
    prices: { input_mtok: 2, output_mtok: 8, cache_read_mtok: 0.2 },
    variants: [{ when: { service_tier: "priority" }, prices: { input_mtok: 4, output_mtok: 16 } }],
    entry: {
      ...{ input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
      ...{ input_cost_per_token_priority: 3.5e-6, cache_read_input_token_cost_priority: 0.35e-6 },
    },
  });
  const { input, output, cacheRead, source, sources } = rates({ serviceTier: "priority" });
  assert.deepEqual([input, output, cacheRead, source], [4, 16, 0.35, GENAI]);
  assert.deepEqual(sources, { cache_read_tokens: LITELLM });
});
