import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { PurserError } from "./errors.ts";
import {
  divideHalfEven,
  formatUsd,
  parseTotalUsd,
  parseUsd,
  parseUsdPerMillion,
  roundUsd,
  toUsd,
} from "./money.ts";

const BILLION_USD = 10n ** 18n;

function isInvalid(error: unknown): boolean {
  return error instanceof PurserError && error.code === "invalid";
}

Deno.test("formatUsd() and parseUsd() are each other's inverse for every amount", () => {
  fc.assert(fc.property(fc.bigInt(-BILLION_USD, BILLION_USD), (nano) => {
    assert.equal(parseUsd(formatUsd(nano)), nano);
  }));
});

Deno.test("formatUsd() writes nine decimals at most and no trailing zeros", () => {
  assert.equal(formatUsd(0n), "0");
  assert.equal(formatUsd(1n), "0.000000001");
  assert.equal(formatUsd(150_600n), "0.0001506");
  assert.equal(formatUsd(1_000_000_000n), "1");
  assert.equal(formatUsd(-1_500_000_000n), "-1.5");
  assert.equal(formatUsd(-1n), "-0.000000001");
});

Deno.test("toUsd() survives JSON to the nano-USD up to four million USD", () => {
  const limit = 4_194_304n * 1_000_000_000n;
  fc.assert(
    fc.property(fc.bigInt(-limit, limit), (nano) => {
      assert.equal(parseUsd(JSON.parse(JSON.stringify(toUsd(nano)))), nano);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("parseUsd() reads a number as its author wrote it", () => {
  assert.equal(parseUsd(0.1), 100_000_000n);
  assert.equal(parseUsd(1e-9), 1n);
  assert.equal(parseUsd(1.000000001), 1_000_000_001n);
  assert.equal(parseUsd("25"), 25_000_000_000n);
  assert.equal(parseUsd(" .5 "), 500_000_000n);
  assert.equal(parseUsd("1."), 1_000_000_000n);
  assert.equal(parseUsd("1.5e3"), 1_500_000_000_000n);
  assert.equal(parseUsd("+0.25"), 250_000_000n);
  assert.equal(parseUsd("-0"), 0n);
  assert.equal(parseUsd("1.2300000000000"), 1_230_000_000n);
});

Deno.test("parseUsd() refuses more than nine decimals rather than round a limit", () => {
  for (const value of ["0.0000000001", 1e-10, 0.1 + 0.2, "1.0000000005"]) {
    assert.throws(
      () => parseUsd(value),
      (error) => isInvalid(error) && /more than nine decimals/.test(String(error)),
    );
  }
});

for (
  const text of [
    "",
    " ",
    ".",
    "-",
    "1,5",
    "1_000",
    "0x10",
    "NaN",
    "Infinity",
    "$1",
    "1e",
    "1 2",
    "--1",
    "1e999",
  ]
) {
  Deno.test(`parseUsd() and roundUsd() refuse ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseUsd(text), isInvalid);
    assert.throws(() => roundUsd(text), isInvalid);
  });
}

Deno.test("parseUsd() and roundUsd() refuse more than a billion USD, and take exactly that", () => {
  for (const read of [parseUsd, roundUsd]) {
    assert.equal(read("1000000000"), BILLION_USD);
    assert.equal(read("-1e9"), -BILLION_USD);
    for (const value of ["1000000000.000000001", "-1000000001", 1e300, NaN, Infinity]) {
      assert.throws(() => read(value), isInvalid);
    }
  }
});

Deno.test("parseTotalUsd() reads what toUsd() wrote, however large the sum", () => {
  for (const nano of [0n, 1n, BILLION_USD + 1n, 12n * BILLION_USD, 2n ** 63n - 1n, 10n ** 40n]) {
    assert.equal(toUsd(parseTotalUsd(toUsd(nano))), toUsd(nano));
  }
  assert.equal(parseTotalUsd("1200000000.000000001"), 12n * 10n ** 17n + 1n);
  assert.throws(() => parseTotalUsd("0.0000000001"), isInvalid);
  assert.throws(() => parseTotalUsd(NaN), isInvalid);
});

Deno.test("an amount's error says what could not be read", () => {
  assert.throws(
    () => parseUsd("ten", "the budget"),
    /^PurserError: Cannot read the budget: ten is not a number$/,
  );
  assert.throws(() => parseUsd("", "the budget"), /Cannot read the budget: an empty text is not a number$/);
});

Deno.test("roundUsd() rounds half to even", () => {
  assert.equal(roundUsd("0.0000000005"), 0n);
  assert.equal(roundUsd("0.0000000015"), 2n);
  assert.equal(roundUsd("0.0000000025"), 2n);
  assert.equal(roundUsd("0.00000000250001"), 3n);
  assert.equal(roundUsd("-0.0000000005"), 0n);
  assert.equal(roundUsd("-0.0000000015"), -2n);
  assert.equal(roundUsd(0.00015059999999999997), 150_600n);
});

Deno.test("roundUsd() and parseUsd() agree wherever nothing has to be rounded", () => {
  fc.assert(fc.property(fc.bigInt(-BILLION_USD, BILLION_USD), (nano) => {
    assert.equal(roundUsd(formatUsd(nano)), nano);
  }));
});

Deno.test("divideHalfEven() gives the nearest integer, and the even one of two", () => {
  const big = fc.bigInt(-(10n ** 30n), 10n ** 30n);
  const halves = fc.tuple(big, fc.bigInt(1n, 10n ** 9n)).map((
    [odd, half],
  ) => [(2n * odd + 1n) * half, 2n * half]);
  const pairs = fc.oneof(halves, fc.tuple(big, big.filter((denominator) => denominator !== 0n)));
  fc.assert(fc.property(pairs, ([numerator, denominator]) => {
    const quotient = divideHalfEven(numerator!, denominator!);
    const size = denominator! < 0n ? -denominator! : denominator!;
    const rest = numerator! - quotient * denominator!;
    const twice = 2n * (rest < 0n ? -rest : rest);
    assert.ok(twice <= size);
    if (twice === size) assert.equal(quotient % 2n, 0n);
  }));
});

Deno.test("parseUsdPerMillion() gives pico-USD per token and rounds away float noise", () => {
  assert.equal(parseUsdPerMillion(1), 1_000_000n);
  assert.equal(parseUsdPerMillion(0.15), 150_000n);
  assert.equal(parseUsdPerMillion(0.01875), 18_750n);
  assert.equal(parseUsdPerMillion(0.15000000000000002), 150_000n);
  assert.equal(parseUsdPerMillion(0.08333333333333334), 83_333n);
  assert.equal(parseUsdPerMillion("0.000001"), 1n);
});
