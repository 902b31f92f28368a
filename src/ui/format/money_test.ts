import assert from "node:assert/strict";
import { decimalsOf, exactUsd, shortUsd } from "./money.ts";

Deno.test("an amount is shown by cents, and below a dollar by the digits that matter", () => {
  const shown: [number, string][] = [
    [0, "$0"],
    [1e-9, "$0.000000001"],
    [1.234e-7, "$0.00000012"],
    [3 * 0.1, "$0.30"],
    [0.0042, "$0.0042"],
    [0.00999, "$0.01"],
    [0.0123, "$0.0123"],
    [0.62, "$0.62"],
    [0.99999, "$1.00"],
    [4.1, "$4.10"],
    [4.105, "$4.10"],
    [999.999, "$1,000.00"],
    [1234567.891, "$1,234,567.89"],
    [-0.5, "-$0.50"],
    [-1234.5, "-$1,234.50"],
  ];
  for (const [usd, text] of shown) assert.equal(shortUsd(usd), text);
});

Deno.test("the exact amount has every decimal of the API's number", () => {
  const shown: [number, string][] = [
    [0, "$0"],
    [1e-9, "$0.000000001"],
    [0.1 + 0.2 - 0.00000000000000004, "$0.3"],
    [1234567.000000001, "$1,234,567.000000001"],
    [-1e-9, "-$0.000000001"],
  ];
  for (const [usd, text] of shown) assert.equal(exactUsd(usd), text);
});

Deno.test("the amounts of a column have as many decimals, but for those that would read as zero", () => {
  const columns: [amounts: (number | null)[], shown: string[]][] = [
    [[60.13, 0.9673, 0.5, 0], ["$60.13", "$0.97", "$0.50", "$0"]],
    [[12, 0.0042], ["$12.00", "$0.0042"]],
    [[0.62, 0.25, null], ["$0.62", "$0.25"]],
    [[0.5806, 0.25], ["$0.5806", "$0.2500"]],
    [[0.0042, 0.00018], ["$0.0042", "$0.0002"]],
    [[-1.5, 0.25], ["-$1.50", "$0.25"]],
    [[0, null], ["$0"]],
  ];
  for (const [amounts, shown] of columns) {
    const decimals = decimalsOf(amounts);
    assert.deepEqual(amounts.flatMap((usd) => usd === null ? [] : [shortUsd(usd, decimals)]), shown);
  }
});
