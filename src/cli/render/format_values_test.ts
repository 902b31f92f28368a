import assert from "node:assert/strict";
import { parseUsd, shortUsd, toUsd } from "../../kernel/money.ts";
import { describePace, formatAmount } from "./describe_budget.ts";
import { formatAmounts, formatCost, formatShare } from "./format_cost.ts";
import { formatSpent } from "./format_spent.ts";
import { countOf, formatBytes, formatCount, formatTime, renderBar } from "./format_values.ts";

const amounts = (...usd: string[]) => formatAmounts(usd.map((text) => parseUsd(text)));

Deno.test("formatCount() groups thousands", () => {
  assert.deepEqual([0, 999, 1_000, 1_234_567].map(formatCount), ["0", "999", "1,000", "1,234,567"]);
  assert.equal(countOf(1, "call"), "1 call");
  assert.equal(countOf(2_000, "call"), "2,000 calls");
});

Deno.test("formatCost() is exact, and distinguishes a missing price from zero", () => {
  assert.equal(formatCost(0.0001506), "$0.0001506");
  assert.equal(formatCost(0), "$0");
  assert.equal(formatCost(null), "no price");
  assert.equal(formatCost(9.1e12), "$9100000000000");
  assert.equal(formatCost(-0.5), "-$0.5");
});

Deno.test("formatAmounts() gives a column as many decimals as its largest amount needs", () => {
  assert.deepEqual(amounts("0.0001506", "0.000000001", "0"), ["$0.000150600", "$0.000000001", "$0"]);
  assert.deepEqual(amounts("0.5", "0.25"), ["$0.50", "$0.25"]);
  assert.deepEqual(amounts("12.3456789", "0.00001"), ["$12.3457", "<$0.0001"]);
  assert.deepEqual(amounts("1234567.891", "0.005"), ["$1,234,567.89", "<$0.01"]);
  assert.deepEqual(formatAmounts([]), []);
});

Deno.test("no formatter shows an amount as nothing, however small it is beside the others", () => {
  for (let nano = 1n; nano < 10n ** 16n; nano *= 7n) {
    const usd = toUsd(nano);
    const shown = [
      formatCost(usd),
      shortUsd(nano),
      shortUsd(nano, 2),
      ...formatAmounts([nano]),
      formatAmounts([nano, 123_456n * 10n ** 9n])[0]!,
      formatSpent(usd, 1_000_000),
      formatSpent(usd, 0.001),
      formatAmount(usd),
      describePace({ usd_per_hour: usd, reaches_at: null }),
    ];
    for (const text of shown) assert.doesNotMatch(text, /^-?\$0(?:\.0*)?(?![\d.])/, `${nano}: ${text}`);
  }
});

Deno.test("formatShare() rounds to whole percent", () => {
  assert.deepEqual([1n, 5n, 335n, 1000n, 0n].map((part) => formatShare(part, 1000n)), [
    "<1%",
    "<1%",
    "34%",
    "100%",
    "",
  ]);
  assert.equal(formatShare(0n, 0n), "");
});

Deno.test("formatTime() is UTC to the second", () => {
  assert.equal(formatTime("2026-11-21T09:30:05.123Z"), "2026-11-21 09:30:05");
  assert.equal(formatTime(null), "-");
});

Deno.test("formatBytes() has two digits at least, and the unit people know", () => {
  const cases: [number, string][] = [[0, "0 bytes"], [1, "1 byte"], [999, "999 bytes"], [1_500, "1.5 kB"]];
  cases.push([23_456, "23 kB"], [1_440_000, "1.4 MB"], [99e6, "99 MB"], [2 * 1024 ** 3, "2.1 GB"], [
    5e13,
    "50000 GB",
  ]);
  for (const [bytes, text] of cases) assert.equal(formatBytes(bytes), text);
});

Deno.test("renderBar() draws eighths of a column, and at least one for a positive part", () => {
  const cases: [number, string, string][] = [
    [1, "████", "####"],
    [0.5, "██", "##"],
    [0.6, "██▍", "##"],
    [0.001, "▏", "#"],
    [0, "", ""],
    [NaN, "", ""],
    [2, "████", "####"],
  ];
  for (const [part, unicode, ascii] of cases) {
    assert.equal(renderBar(part, 4, true), unicode);
    assert.equal(renderBar(part, 4, false), ascii);
  }
});
