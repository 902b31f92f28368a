import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { evaluateExpression } from "./calculator.ts";

Deno.test("evaluateExpression() keeps the usual order of operations", () => {
  const cases: [string, number][] = [
    ["2 + 3 * 4", 14],
    ["(2 + 3) * 4", 20],
    ["10 - 4 - 3", 3],
    ["100 / 10 / 2", 5],
    ["2 ^ 3 ^ 2", 512],
    ["2 ** 10", 1024],
    ["-2 ^ 2", -4],
    ["2 ^ -1", 0.5],
    ["--3", 3],
    ["3 - -3", 6],
    ["-7 % 3", -1],
    [".5 + 1.", 1.5],
    ["1e3 + 2.5E-1", 1000.25],
    ["6 × 7 ÷ 2 − 1", 20],
    ["0 * -1", 0],
    ["9007199254740991", 9007199254740991],
  ];
  for (const [expression, expected] of cases) {
    assert.equal(evaluateExpression(expression), expected, expression);
  }
});

Deno.test("evaluateExpression() answers without the noise of doubles", () => {
  assert.equal(evaluateExpression("0.1 + 0.2"), 0.3);
  assert.equal(evaluateExpression("1.1 * 3"), 3.3);
  assert.equal(evaluateExpression("1 / 3"), 0.333333333333333);
});

Deno.test("evaluateExpression() knows a few functions and constants", () => {
  const cases: [string, number][] = [
    ["sqrt(16) + abs(-2)", 6],
    ["min(3, 1, 2) + max(3, 1, 2)", 4],
    ["round(2.5)", 3],
    ["round(1.005, 2)", 1.01],
    ["round(-1.005, 2)", -1.01],
    ["round(1234, -2)", 1200],
    ["floor(1.9) + ceil(1.1)", 3],
    ["ln(e) + log10(1000)", 4],
    ["round(pi, 4)", 3.1416],
    ["exp(0)", 1],
    ["SQRT(9)", 3],
  ];
  for (const [expression, expected] of cases) {
    assert.equal(evaluateExpression(expression), expected, expression);
  }
});

Deno.test("evaluateExpression() says what is wrong", () => {
  const cases: [string, RegExp][] = [
    ["", /^Cannot calculate: the expression is empty$/],
    ["2 +", /the expression ends too early$/],
    ["(2 + 3", /the expression ends where "\)" should be$/],
    ["2 3", /an unexpected "3" at position 3$/],
    ["2 + )", /an unexpected "\)" at position 5$/],
    ["2 $ 3", /an unexpected "\$" at position 3$/],
    ["1 / 0", /divides by zero/],
    ["1 % (2 - 2)", /divides by zero/],
    ["sqrt(-1)", /not a real number/],
    ["10 ^ 400", /too large/],
    ["sqrt", /sqrt needs parentheses/],
    ["sqrt()", /sqrt does not take 0 numbers/],
    ["abs(1, 2)", /abs does not take 2 numbers/],
    ["foo(1)", /the function foo is not known; there are abs, /],
    ["x + 1", /x is not known/],
    ["1.2.3", /an unexpected/],
    ["(".repeat(200), /nested too deeply/],
    ["-".repeat(500) + "1", /nested too deeply/],
    ["1+".repeat(600), /more than 1,000 characters/],
  ];
  for (const [expression, message] of cases) {
    assert.throws(() => evaluateExpression(expression), { code: "invalid", message }, expression);
  }
});

Deno.test("evaluateExpression() reaches nothing of the language it is written in", () => {
  for (const name of ["constructor", "toString", "valueOf", "Deno", "globalThis"]) {
    assert.throws(() => evaluateExpression(name), { code: "invalid" });
    assert.throws(() => evaluateExpression(`${name}(1)`), { code: "invalid" });
  }
});

Deno.test("evaluateExpression() agrees with JavaScript on any sum of products", () => {
  const operand = fc.integer({ min: -999, max: 999 }).map((value) => `(${value})`);
  const operator = fc.constantFrom("+", "-", "*");
  fc.assert(fc.property(operand, fc.array(fc.tuple(operator, operand), { maxLength: 4 }), (first, rest) => {
    const expression = first + rest.map(([sign, value]) => ` ${sign} ${value}`).join("");
    // The text is made of digits and signs above: the one test whose oracle is the language itself.
    const expected = Number(new Function(`return BigInt(0) + ${expression.replace(/\d+/g, "$&n")}`)());
    assert.equal(evaluateExpression(expression), expected);
  }));
});

Deno.test("evaluateExpression() answers any text with a number or an explained error", () => {
  const piece = fc.constantFrom(
    "1",
    "2.5",
    "(",
    ")",
    "+",
    "-",
    "*",
    "/",
    "^",
    "%",
    ",",
    "max(",
    "sqrt(",
    " ",
    "x",
  );
  fc.assert(fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
    try {
      assert.ok(Number.isFinite(evaluateExpression(pieces.join(""))));
    } catch (error) {
      assert.equal((error as { code?: string }).code, "invalid", String(error));
    }
  }));
});
