import assert from "node:assert/strict";
import { parsePriceData } from "./parse_price_data.ts";
import type { ConditionalPrices, GenaiPrices, LitellmPrices } from "./price_data.ts";

const HEAD = { date: "2026-11-10" };
const MODEL = { id: "m", name: "M", match: { equals: "m" }, prices: { input_mtok: 1, output_mtok: 2 } };

function parseModel(fields: Record<string, unknown>) {
  const good = { id: "good", match: { equals: "good" }, prices: { input_mtok: 1 } };
  const published = [{ id: "p", name: "P", models: [good, { ...MODEL, ...fields }] }];
  const { data, skipped } = parsePriceData(JSON.stringify(published), HEAD);
  return { model: (data as GenaiPrices).providers[0]!.models[1], skipped };
}

Deno.test("parsePriceData() takes a published file of genai-prices without its prose and other units", () => {
  const { model, skipped } = parseModel({
    description: "x",
    prices: { input_mtok: 1, audio_hours: 3, input_mchars: 4 },
  });
  assert.deepEqual(model, { id: "m", match: { equals: "m" }, prices: { input_mtok: 1 } });
  assert.deepEqual(skipped, []);
});

function nestedMatch(levels: number): Record<string, unknown> {
  let match: Record<string, unknown> = { equals: "m" };
  for (let i = 0; i < levels; i++) match = { or: [match] };
  return match;
}

const refused: [what: string, fields: Record<string, unknown>, reason: RegExp][] = [
  ["a negative price", { prices: { input_mtok: -1 } }, /input_mtok is negative/],
  ["a price as text", { prices: { input_mtok: "1" } }, /input_mtok is not a number/],
  ["a price of under a pico-USD", { prices: { input_mtok: 0.0000001 } }, /no whole number of pico-USD/],
  ["a price of over a thousand USD", { prices: { input_mtok: 2e9 } }, /over a thousand USD/],
  ["an unknown unit", { prices: { input_mtok: 1, input_wishes: 2 } }, /unknown unit/],
  ["no price of its input", { prices: { output_mtok: 1 } }, /no price per input token/],
  ["no prices", { prices: [] }, /no prices/],
  ["prices that aren't a table", { prices: 5 }, /aren.t a table/],
  [
    "a tier without a start",
    { prices: { input_mtok: { base: 1, tiers: [{ price: 2 }] } } },
    /without a start/,
  ],
  [
    "a wrong date",
    { prices: [{ constraint: { start_date: "soon" }, prices: { input_mtok: 1 } }] },
    /constraint/,
  ],
  [
    "a wrong time",
    {
      prices: [{
        constraint: { type: "time_of_date", start_time: "25:00:00Z", end_time: "01:00:00Z" },
        prices: { input_mtok: 1 },
      }],
    },
    /time of day/,
  ],
  ["a match of another kind", { match: { sounds_like: "m" } }, /clause of another kind/],
  ["no match", { match: undefined }, /isn.t a clause/],
  ["a match of a thousand levels", { match: nestedMatch(1_000) }, /too many levels/],
  [
    "a variant without a condition",
    { price_variants: [{ prices: { input_mtok: 1 } }] },
    /without a condition/,
  ],
  ["a wrong price of a variant", {
    price_variants: [{ when: { processing: "batch" }, prices: { input_mtok: -1 } }],
  }, /negative/],
];

for (const [what, fields, reason] of refused) {
  Deno.test(`parsePriceData() leaves out a model with ${what}, whole, and reports it`, () => {
    const { model, skipped } = parseModel(fields);
    assert.equal(model, undefined);
    assert.equal(skipped[0]!.entry, "p:m");
    assert.match(skipped[0]!.reason, reason);
  });
}

Deno.test("parsePriceData() knows the kind of a constraint by its fields", () => {
  const prices = [
    { prices: { input_mtok: 1 } },
    { constraint: { start_date: "2026-01-01" }, prices: { input_mtok: 2 } },
    { constraint: { start_time: "00:30:00Z", end_time: "16:30:00Z" }, prices: { input_mtok: 3 } },
  ];
  const { model } = parseModel({ prices });
  assert.deepEqual(
    (model!.prices as readonly ConditionalPrices[]).map((one) => one.constraint?.type),
    [
      undefined,
      "start_date",
      "time_of_date",
    ],
  );
  const both = { start_date: "2026-01-01", start_time: "00:30:00Z", end_time: "16:30:00Z" };
  assert.equal(parseModel({ prices: [{ constraint: both, prices: { input_mtok: 1 } }] }).model, undefined);
});

Deno.test("parsePriceData() rounds what is no more than noise of floats or a third", () => {
  assert.ok(
    parseModel({ prices: { input_mtok: 0.18000000000000002, output_mtok: 0.08333333333333334 } }).model,
  );
});

Deno.test("parsePriceData() drops variants of what no call reports", () => {
  const batch = { when: { processing: "batch" }, prices: { input_mtok: 0.5 } };
  const { model } = parseModel({
    price_variants: [batch, { when: { route: "eu" }, prices: { input_mtok: 3 } }],
  });
  assert.deepEqual(model!.price_variants, [batch]);
});

function parseEntry(fields: Record<string, unknown>) {
  const good = { litellm_provider: "p", mode: "chat", input_cost_per_token: 1e-6 };
  const map = {
    sample_spec: { mode: "one of" },
    good,
    key: { ...good, output_cost_per_token: 2e-6, ...fields },
  };
  const { data, skipped } = parsePriceData(JSON.stringify(map), HEAD);
  return { model: (data as LitellmPrices).models.key, skipped };
}

Deno.test("parsePriceData() takes LiteLLM's map without anything but rates", () => {
  const { model } = parseEntry({
    max_tokens: 5,
    source: "x",
    input_cost_per_image: 3,
    input_cost_per_token_above_200k_tokens: 2e-6,
  });
  assert.deepEqual(model, {
    litellm_provider: "p",
    input_cost_per_token: 1e-6,
    output_cost_per_token: 2e-6,
    input_cost_per_token_above_200k_tokens: 2e-6,
  });
});

const refusedEntries: [what: string, fields: Record<string, unknown>, reason: RegExp][] = [
  ["without a provider", { litellm_provider: undefined }, /no provider/],
  ["of images", { mode: "image_generation" }, /no text/],
  ["without a price of its input", { input_cost_per_token: undefined }, /no price per input token/],
  ["with prices of 0", { input_cost_per_token: 0, output_cost_per_token: 0 }, /free or unknown/],
  ["with a negative price", { output_cost_per_token: -1 }, /negative/],
  ["with a price as text", { output_cost_per_token: "2" }, /not a number/],
  ["with a tier without a range", { tiered_pricing: [{ input_cost_per_token: 1e-6 }] }, /without a range/],
];

for (const [what, fields, reason] of refusedEntries) {
  Deno.test(`parsePriceData() leaves out an entry ${what}, whole, and reports it`, () => {
    const { model, skipped } = parseEntry(fields);
    assert.equal(model, undefined);
    assert.match(skipped.find(({ entry }) => entry === "key")!.reason, reason);
  });
}

const files: [what: string, text: string, head: object, message: RegExp][] = [
  ["no JSON", "<html>", HEAD, /the file is no JSON/],
  ["no prices", "{}", HEAD, /has no prices; give/],
  ["a number", "5", HEAD, /has no prices; give/],
  ["an empty list", "[]", HEAD, /has no prices; give/],
  ["no date", JSON.stringify([{ id: "p", models: [MODEL] }]), {}, /give it as 2026-11-10/],
  ["too much", " ".repeat(32_000_001), HEAD, /over 32 MB/],
];

for (const [what, text, head, message] of files) {
  Deno.test(`parsePriceData() refuses a file with ${what}`, () => {
    assert.throws(() => parsePriceData(text, head), { code: "invalid", message });
  });
}

for (const name of ["genai_prices", "litellm_prices"]) {
  Deno.test(`parsePriceData() takes all of ${name}.json as it is bundled`, async () => {
    const text = await Deno.readTextFile(new URL(`./data/${name}.json`, import.meta.url));
    const { data, skipped } = parsePriceData(text);
    assert.deepEqual(skipped, []);
    assert.deepEqual(data, JSON.parse(text));
  });
}

Deno.test("parsePriceData() takes models and fields that have the names of an object's own", () => {
  const entry = { litellm_provider: "constructor", input_cost_per_token: 1e-6, constructor: 5 };
  const text = JSON.stringify({ constructor: entry }).replace("{", `{"__proto__":${JSON.stringify(entry)},`);
  const { data, skipped } = parsePriceData(text, HEAD);
  assert.deepEqual(Object.keys((data as LitellmPrices).models), ["__proto__", "constructor"]);
  assert.deepEqual(skipped, []);
  const { models } = data as LitellmPrices;
  assert.deepEqual(models.constructor, { litellm_provider: "constructor", input_cost_per_token: 1e-6 });
});
