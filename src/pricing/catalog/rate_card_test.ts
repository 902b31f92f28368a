import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { DIMENSIONS } from "./dimensions.ts";
import { type CardRules, scaleTiers, tiersOf } from "./rate_card.ts";
import type { PriceTable } from "./price_data.ts";

const PLAIN: CardRules = { isClaude: false, isGoogle: false };

function tierOf(prices: PriceTable, rules: Partial<CardRules> = {}) {
  return tiersOf(prices, { ...PLAIN, ...rules })![0]!;
}

const defaults: [
  rule: string,
  prices: PriceTable,
  rules: Partial<CardRules>,
  part: string,
  rate: bigint | null | undefined,
][] = [
  ["a cache read costs as the input", { input_mtok: 4 }, {}, "cacheRead", 4_000_000n],
  ["a cache write costs as the input", { input_mtok: 4 }, {}, "cacheWrite", 4_000_000n],
  [
    "a write of an hour costs as other writes",
    { input_mtok: 4, cache_write_mtok: 5 },
    {},
    "cacheWrite1h",
    5_000_000n,
  ],
  ["Claude's cache write costs 1.25x", { input_mtok: 4 }, { isClaude: true }, "cacheWrite", 5_000_000n],
  [
    "Claude's cache write is rounded half to even",
    { input_mtok: 0.000006 },
    { isClaude: true },
    "cacheWrite",
    8n,
  ],
  [
    "cached audio of a free model of Google costs as the cache",
    { input_mtok: 0, cache_read_mtok: 1 },
    { isGoogle: true },
    "cache_read_audio_tokens",
    1_000_000n,
  ],
  [
    "the output of a model of speech is audio",
    { input_mtok: 1, output_mtok: 2 },
    { medium: "audio" },
    "output_audio_tokens",
    2_000_000n,
  ],
  [
    "an output image of a model of images has its own price",
    { input_mtok: 1, output_mtok: 2, output_image_mtok: 3 },
    { medium: "image" },
    "output_image_tokens",
    3_000_000n,
  ],
  [
    "Claude's write of an hour costs 2x",
    { input_mtok: 4, cache_write_mtok: 5 },
    { isClaude: true },
    "cacheWrite1h",
    8_000_000n,
  ],
  [
    "a write of five minutes has its own price",
    { input_mtok: 4, cache_write_mtok: 5, cache_write_5m_mtok: 6 },
    {},
    "cacheWrite",
    6_000_000n,
  ],
  ["a write of twelve hours has no price", { input_mtok: 4 }, {}, "cache_write_12h_tokens", undefined],
  ["reasoning costs as the output", { input_mtok: 1, output_mtok: 2 }, {}, "reasoning", 2_000_000n],
  [
    "reasoning has its own price",
    { input_mtok: 1, output_mtok: 2, output_reasoning_mtok: 3 },
    {},
    "reasoning",
    3_000_000n,
  ],
  ["an embedding has no output", { input_mtok: 1 }, {}, "output", null],
  ["images cost as the input", { input_mtok: 1 }, {}, "input_image_tokens", 1_000_000n],
  ["video costs as the input", { input_mtok: 1 }, {}, "input_video_tokens", 1_000_000n],
  [
    "cached images cost as the cache",
    { input_mtok: 1, cache_read_mtok: 0.1 },
    {},
    "cache_read_image_tokens",
    100_000n,
  ],
  [
    "cached images cost as images",
    { input_mtok: 1, cache_read_mtok: 0.1, input_image_mtok: 5 },
    {},
    "cache_read_image_tokens",
    5_000_000n,
  ],
  ["audio has no price", { input_mtok: 1 }, {}, "input_audio_tokens", undefined],
  ["cached audio has no price", { input_mtok: 1 }, {}, "cache_read_audio_tokens", undefined],
  [
    "Google's audio costs as the input",
    { input_mtok: 1 },
    { isGoogle: true },
    "input_audio_tokens",
    1_000_000n,
  ],
  [
    "Google's cached audio costs as the cache",
    { input_mtok: 1, cache_read_mtok: 0.1 },
    { isGoogle: true },
    "cache_read_audio_tokens",
    100_000n,
  ],
  [
    "cached audio costs as audio",
    { input_mtok: 1, input_audio_mtok: 30 },
    {},
    "cache_read_audio_tokens",
    30_000_000n,
  ],
  [
    "cached audio has its own price",
    { input_mtok: 1, input_audio_mtok: 30, cache_audio_read_mtok: 3 },
    {},
    "cache_read_audio_tokens",
    3_000_000n,
  ],
  [
    "audio output has no price",
    { input_mtok: 1, output_mtok: 2 },
    { isGoogle: true },
    "output_audio_tokens",
    undefined,
  ],
  ["image output has no price", { input_mtok: 1, output_mtok: 2 }, {}, "output_image_tokens", undefined],
  ["video output has no price", { input_mtok: 1, output_mtok: 2 }, {}, "output_video_tokens", undefined],
  ["searches have no price", { input_mtok: 1 }, {}, "web_searches", undefined],
  [
    "searches cost by the thousand",
    { input_mtok: 1, web_searches_kcount: 10 },
    {},
    "web_searches",
    10_000_000_000n,
  ],
  [
    "file searches cost by the thousand",
    { input_mtok: 1, storage_searches_kcount: 2.5 },
    {},
    "file_searches",
    2_500_000_000n,
  ],
  [
    "runs of code cost by the thousand",
    { input_mtok: 1, code_executions_kcount: 30 },
    {},
    "code_executions",
    30_000_000_000n,
  ],
  ["requests cost by the thousand", { input_mtok: 1, requests_kcount: 12 }, {}, "request", 12_000_000_000n],
  ["requests have no fee", { input_mtok: 1 }, {}, "request", undefined],
];

for (const [rule, prices, rules, part, rate] of defaults) {
  Deno.test(`in a rate card, ${rule}`, () => {
    const tier = tierOf(prices, rules) as unknown as Record<string, unknown>;
    const details = tier.details as Record<string, unknown>;
    assert.equal(part in tier ? tier[part] : details[part], rate);
  });
}

Deno.test("a table without a price per input token gives no rate card", () => {
  assert.equal(tiersOf({}, PLAIN), null);
  assert.equal(tiersOf({ output_mtok: 1 }, PLAIN), null);
});

Deno.test("a rate card has a tier for every threshold of any rate, each with the rates above it", () => {
  const tiers = tiersOf({
    input_mtok: { base: 1, tiers: [{ start: 200_000, price: 2 }] },
    output_mtok: { base: 3, tiers: [{ start: 100_000, price: 4 }, { start: 200_000, price: 5 }] },
    cache_read_mtok: 0.1,
  }, PLAIN)!;
  assert.deepEqual(
    tiers.map((
      { aboveInputTokens, input, output, cacheRead },
    ) => [aboveInputTokens, input, output, cacheRead]),
    [
      [-1, 1_000_000n, 3_000_000n, 100_000n],
      [100_000, 1_000_000n, 4_000_000n, 100_000n],
      [200_000, 2_000_000n, 5_000_000n, 100_000n],
    ],
  );
});

Deno.test("every price of up to six decimals becomes exactly that many pico-USD", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_000_000_000 }), fc.constantFrom(...DIMENSIONS), (micro, name) => {
      const prices = { input_mtok: 1, output_mtok: 1, [name]: micro / 1e6 };
      const tier = tierOf(prices);
      const values = [...Object.values(tier), ...Object.values(tier.details!)];
      const wanted = name.endsWith("_kcount") ? BigInt(micro) * 1000n : BigInt(micro);
      assert.ok(wanted === 0n || values.includes(wanted), `${name} ${micro}`);
    }),
  );
});

Deno.test("scaling multiplies the tokens' rates, not the fees", () => {
  const tiers = tiersOf({
    input_mtok: 2,
    output_mtok: 4,
    web_searches_kcount: 10,
    requests_kcount: 5,
    input_audio_mtok: 6,
  }, PLAIN)!;
  const [half] = scaleTiers(tiers, (rate) => rate / 2n);
  assert.equal(half!.input, 1_000_000n);
  assert.equal(half!.output, 2_000_000n);
  assert.equal(half!.cacheWrite1h, 1_000_000n);
  assert.equal(half!.details!.input_audio_tokens, 3_000_000n);
  assert.equal(half!.details!.web_searches, 10_000_000_000n);
  assert.equal(half!.request, 5_000_000_000n);
});
