import assert from "node:assert/strict";
import { PriceOverride, PriceOverrides } from "../contract/price_override.ts";
import { indexOverrides } from "./prices.ts";

const row: PriceOverride = {
  provider: "local",
  model: "my-model",
  input_usd_per_million: 1,
  output_usd_per_million: 2,
};
const AT = Date.parse("2026-11-01T12:00:00.000Z");

Deno.test("PriceOverride takes the row of the documentation", () => {
  const full = {
    ...row,
    cache_read_usd_per_million: 0.1,
    cache_write_usd_per_million: 1.25,
    cache_write_1h_usd_per_million: 2,
    from: "2026-01-01",
    service_tier: "flex",
  };
  assert.deepEqual(PriceOverride.parse(full), full);
  assert.deepEqual(PriceOverride.parse(row), row);
});

const refused: [string, Record<string, unknown>, string, RegExp][] = [
  ["a negative price", { input_usd_per_million: -1 }, "input_usd_per_million", /must not be negative/],
  [
    "a price of seven decimals",
    { output_usd_per_million: 0.0000001 },
    "output_usd_per_million",
    /six decimals/,
  ],
  ["a price as text", { output_usd_per_million: "2" }, "output_usd_per_million", /must be a number of USD/],
  ["a price that is not finite", { input_usd_per_million: Infinity }, "input_usd_per_million", /must be/],
  [
    "a price over a dollar a token",
    { input_usd_per_million: 1e7 },
    "input_usd_per_million",
    /at most 1000000/,
  ],
  [
    "a missing price",
    { input_usd_per_million: undefined },
    "input_usd_per_million",
    /must be a number of USD/,
  ],
  ["an empty model", { model: "" }, "model", /name of a model/],
  ["a date that does not exist", { from: "2026-02-30" }, "from", /must be a date such as 2026-01-01/],
  ["a key that it does not know", { input_price: 1 }, "", /input_price/],
];

for (const [name, fields, path, message] of refused) {
  Deno.test(`PriceOverride refuses ${name}`, () => {
    const result = PriceOverride.safeParse({ ...row, ...fields });
    assert.equal(result.success, false);
    const issue = result.error!.issues[0]!;
    assert.equal(issue.path.join("."), path);
    assert.match(issue.message, message);
  });
}

Deno.test("PriceOverride takes every price of up to six decimals", () => {
  for (const price of [0, 0.000001, 0.1, 0.3, 1.1, 0.018755, 3.141593, 123456.654321, 1_000_000]) {
    assert.ok(PriceOverride.safeParse({ ...row, input_usd_per_million: price }).success, String(price));
  }
});

Deno.test("a missing cache price is the input price", () => {
  const tier = indexOverrides([row]).find("local", "my-model", AT)!.tiers[0]!;
  assert.equal(tier.cacheRead, 1_000_000n);
  assert.equal(tier.cacheWrite, 1_000_000n);
  assert.equal(tier.cacheWrite1h, 1_000_000n);
  const written = indexOverrides([{ ...row, cache_write_usd_per_million: 1.25 }]).find(
    "local",
    "my-model",
    AT,
  )!;
  assert.equal(written.tiers[0]!.cacheWrite1h, 1_250_000n);
});

Deno.test("the latest row whose date has come holds", () => {
  const overrides = indexOverrides([
    { ...row, input_usd_per_million: 3, from: "2026-06-01" },
    { ...row, input_usd_per_million: 1, from: "2026-01-01" },
    { ...row, input_usd_per_million: 2, from: "2026-03-01" },
  ]);
  const inputAt = (time: string) => overrides.find("local", "my-model", Date.parse(time))?.tiers[0]?.input;
  assert.equal(inputAt("2025-12-31T23:59:59.999Z"), undefined);
  assert.equal(inputAt("2026-01-01T00:00:00.000Z"), 1_000_000n);
  assert.equal(inputAt("2026-02-28T23:59:59.999Z"), 1_000_000n);
  assert.equal(inputAt("2026-03-01T00:00:00.000Z"), 2_000_000n);
  assert.equal(inputAt("2030-01-01T00:00:00.000Z"), 3_000_000n);
});

Deno.test("a dated row beats one without a date once its day has come", () => {
  const overrides = indexOverrides([row, { ...row, input_usd_per_million: 9, from: "2026-03-01" }]);
  assert.equal(overrides.find("local", "my-model", Date.parse("2026-02-01"))!.tiers[0]!.input, 1_000_000n);
  assert.equal(overrides.find("local", "my-model", AT)!.tiers[0]!.input, 9_000_000n);
});

Deno.test("two rows for the same model, date and tier are refused, each of another tier is not", () => {
  const dated = { ...row, from: "2026-01-01" };
  assert.match(PriceOverrides.safeParse([row, row]).error!.issues[0]!.message, /repeats the provider, model/);
  assert.equal(PriceOverrides.safeParse([row, dated, dated]).success, false);
  assert.equal(PriceOverrides.safeParse([row, dated, { ...row, service_tier: "flex" }]).success, true);
});

Deno.test("a row for a service tier prices only what was served there", () => {
  const overrides = indexOverrides([row, { ...row, input_usd_per_million: 0.5, service_tier: "flex" }]);
  assert.equal(overrides.find("local", "my-model", AT)!.tiers[0]!.input, 1_000_000n);
  assert.equal(overrides.find("local", "my-model", AT, "priority")!.tiers[0]!.input, 1_000_000n);
  assert.equal(overrides.find("local", "my-model", AT, "flex")!.tiers[0]!.input, 500_000n);
});

Deno.test("a row prices what it says beside text, and nothing else", () => {
  const full = PriceOverride.parse({
    ...row,
    cache_write_12h_usd_per_million: 3,
    reasoning_usd_per_million: 4,
    input_audio_usd_per_million: 5,
    output_image_usd_per_million: 6,
    web_searches_usd_per_thousand: 10,
    requests_usd_per_thousand: 0.5,
  });
  const tier = indexOverrides([full]).find("local", "my-model", AT)!.tiers[0]!;
  assert.equal(tier.reasoning, 4_000_000n);
  assert.equal(tier.request, 500_000_000n);
  assert.deepEqual(tier.details, {
    cache_write_12h_tokens: 3_000_000n,
    input_audio_tokens: 5_000_000n,
    cache_read_audio_tokens: 5_000_000n,
    input_image_tokens: 1_000_000n,
    cache_read_image_tokens: 1_000_000n,
    input_video_tokens: 1_000_000n,
    output_image_tokens: 6_000_000n,
    web_searches: 10_000_000_000n,
  });
  assert.equal(PriceOverride.safeParse({ ...row, requests_usd_per_thousand: -1 }).success, false);
});

Deno.test("a row's provider is known by its other names", () => {
  const overrides = indexOverrides([{ ...row, provider: "bedrock" }]);
  for (const provider of ["aws", "amazon-bedrock", "Bedrock"]) {
    assert.ok(overrides.find(provider, "my-model", AT), provider);
  }
  assert.equal(overrides.find("azure", "my-model", AT), undefined);
});
