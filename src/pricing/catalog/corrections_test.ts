import assert from "node:assert/strict";
import { silentLog } from "../../kernel/log.ts";
import { bundledPrices } from "./bundled_prices.ts";
import { createCatalog } from "../catalog.ts";

const catalog = createCatalog(await bundledPrices(), silentLog);

function ratesAt(provider: string, model: string, time: string) {
  const { input, output, cacheRead } = catalog.rates({ provider, model, at: Date.parse(time) })!.tiers[0]!;
  return [input, cacheRead, output];
}

const FLAT = [435_000n, 3_625n, 870_000n];
const OFF_PEAK = [660_000n, 22_000n, 1_980_000n];
const PEAK = [1_320_000n, 44_000n, 3_960_000n];

const times: [time: string, rates: bigint[], why: string][] = [
  ["2026-08-14T02:00:00Z", FLAT, "an hour that was no peak yet"],
  ["2026-08-17T00:59:59.999Z", OFF_PEAK, "before 9 o'clock in Beijing"],
  ["2026-08-17T01:00:00Z", PEAK, "from 9 o'clock on"],
  ["2026-08-17T03:59:59.999Z", PEAK, "before noon"],
  ["2026-08-17T04:00:00Z", OFF_PEAK, "at noon"],
  ["2026-08-17T06:00:00Z", PEAK, "from 14 o'clock on"],
  ["2026-08-17T10:00:00Z", OFF_PEAK, "at 18 o'clock"],
  ["2026-08-22T02:00:00Z", PEAK, "the last Saturday with a peak"],
  ["2026-08-23T02:00:00Z", OFF_PEAK, "the first Sunday without"],
  ["2026-11-21T02:00:00Z", OFF_PEAK, "a Saturday"],
  ["2026-11-20T02:00:00Z", PEAK, "a Friday"],
  ["2026-10-01T02:00:00Z", OFF_PEAK, "the national day"],
  ["2026-10-08T02:00:00Z", PEAK, "the first working day after"],
];

for (const [time, rates, why] of times) {
  Deno.test(`DeepSeek's price at ${time} is that of ${why}`, () => {
    // Twice: the second comes from the cache.
    for (let call = 0; call < 2; call++) {
      assert.deepEqual(ratesAt("deepseek", "deepseek-v4-pro", time), rates);
    }
  });
}

Deno.test("DeepSeek's peak price is the double of the price of its time", () => {
  assert.deepEqual(ratesAt("deepseek", "deepseek-v4-flash", "2026-09-09T02:00:00Z"), [
    440_000n,
    14_000n,
    1_320_000n,
  ]);
  assert.deepEqual(ratesAt("deepseek", "deepseek-v4-flash", "2026-09-10T02:00:00Z"), [
    300_000n,
    6_000n,
    1_200_000n,
  ]);
});

Deno.test("mistral-large-latest has the price of Large 3 since its release", () => {
  assert.deepEqual(ratesAt("mistral", "mistral-large-latest", "2026-11-20T00:00:00Z"), [
    500_000n,
    50_000n,
    1_500_000n,
  ]);
  assert.deepEqual(ratesAt("mistral", "mistral-large-latest", "2025-12-01T23:59:59Z"), [
    2_000_000n,
    2_000_000n,
    6_000_000n,
  ]);
  assert.deepEqual(ratesAt("mistral", "mistral-large-2411", "2026-11-20T00:00:00Z"), [
    2_000_000n,
    2_000_000n,
    6_000_000n,
  ]);
});

Deno.test("ministral-3b-latest has the price of Ministral 3 since its release", () => {
  assert.equal(ratesAt("mistral", "ministral-3b-latest", "2026-11-20T00:00:00Z")[0], 100_000n);
});

Deno.test("DeepSeek's legacy name for images has the price of Flash", () => {
  for (const time of ["2026-11-20T02:00:00Z", "2026-11-20T12:00:00Z"]) {
    assert.deepEqual(
      ratesAt("deepseek", "deepseek-v4-flash-vision-exp", time),
      ratesAt("deepseek", "deepseek-flash", time),
    );
  }
});
