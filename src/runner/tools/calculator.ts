import { PurserError } from "../../kernel/errors.ts";

const MAX_LENGTH = 1_000;
const MAX_DEPTH = 100;

/** A Map, so that names of `Object.prototype` are not functions of the calculator. */
const FUNCTIONS = new Map<
  string,
  { arity: [least: number, most: number]; call: (...values: number[]) => number }
>([
  ["abs", { arity: [1, 1], call: Math.abs }],
  ["ceil", { arity: [1, 1], call: Math.ceil }],
  ["exp", { arity: [1, 1], call: Math.exp }],
  ["floor", { arity: [1, 1], call: Math.floor }],
  ["ln", { arity: [1, 1], call: Math.log }],
  ["log10", { arity: [1, 1], call: Math.log10 }],
  ["max", { arity: [1, Infinity], call: Math.max }],
  ["min", { arity: [1, Infinity], call: Math.min }],
  ["round", { arity: [1, 2], call: roundTo }],
  ["sqrt", { arity: [1, 1], call: Math.sqrt }],
]);

const CONSTANTS = new Map([["pi", Math.PI], ["e", Math.E]]);

/**
 * Evaluates an arithmetic expression: `+ - * / % ^`, parentheses, decimals, `sqrt(…)` and the like, `pi` and `e`. `^` groups to
 * the right and binds tighter than a minus before it, so `-2^2` is -4; `%` is the remainder with the sign of its left side.
 * The result is rounded to 15 digits, the precision of doubles (0.1 + 0.2 is 0.3). Throws `invalid` with a reason that the
 * model can use to correct itself.
 */
export function evaluateExpression(expression: string): number {
  if (expression.length > MAX_LENGTH) throw refuse("it has more than 1,000 characters");
  const result = new Parser(readTokens(expression)).parse();
  if (Number.isNaN(result)) throw refuse("the result is not a real number");
  if (!Number.isFinite(result)) throw refuse("the result is too large");
  const rounded = Number.isSafeInteger(result) ? result : Number(result.toPrecision(15));
  return rounded === 0 ? 0 : rounded; // no -0
}

function refuse(reason: string): PurserError {
  return new PurserError("invalid", `Cannot calculate: ${reason}`);
}

interface Token {
  text: string;
  /** Position in the expression, from 1. */
  at: number;
}

const TOKEN =
  /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[A-Za-z][A-Za-z0-9]*|\*\*|[-+*/%^(),×÷−])|(\S))/gu;

const ALIASES = new Map([["**", "^"], ["×", "*"], ["÷", "/"], ["−", "-"]]);

function readTokens(expression: string): Token[] {
  const tokens: Token[] = [];
  for (const match of expression.matchAll(TOKEN)) {
    const [whole, token, unknown] = match;
    const at = match.index + whole.length - (token ?? unknown ?? "").length + 1;
    if (token === undefined) throw refuse(`there is an unexpected "${unknown}" at position ${at}`);
    tokens.push({ text: ALIASES.get(token) ?? token, at });
  }
  return tokens;
}

/** Recursive descent: sum -> product -> sign -> power -> atom. */
class Parser {
  #next = 0;
  #depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  parse(): number {
    if (this.tokens.length === 0) throw refuse("the expression is empty");
    const value = this.#sum();
    if (this.#peek() !== undefined) throw this.#unexpected();
    return value;
  }

  #sum(): number {
    if (++this.#depth > MAX_DEPTH) throw refuse("it is nested too deeply");
    let value = this.#product();
    for (;;) {
      if (this.#take("+")) value += this.#product();
      else if (this.#take("-")) value -= this.#product();
      else break;
    }
    this.#depth--;
    return value;
  }

  #product(): number {
    let value = this.#sign();
    for (;;) {
      if (this.#take("*")) value *= this.#sign();
      else if (this.#take("/")) value /= this.#divisor();
      else if (this.#take("%")) value %= this.#divisor();
      else return value;
    }
  }

  #divisor(): number {
    const value = this.#sign();
    if (value === 0) throw refuse("it divides by zero");
    return value;
  }

  #sign(): number {
    if (++this.#depth > MAX_DEPTH) throw refuse("it is nested too deeply");
    const value = this.#take("-") ? -this.#sign() : this.#take("+") ? this.#sign() : this.#power();
    this.#depth--;
    return value;
  }

  #power(): number {
    const base = this.#atom();
    return this.#take("^") ? base ** this.#sign() : base;
  }

  #atom(): number {
    const token = this.#peek();
    if (token === undefined) throw refuse("the expression ends too early");
    if (this.#take("(")) {
      const value = this.#sum();
      this.#expect(")");
      return value;
    }
    if (/^[\d.]/.test(token.text)) {
      this.#next++;
      return Number(token.text);
    }
    if (!/^[A-Za-z]/.test(token.text)) throw this.#unexpected();
    this.#next++;
    const name = token.text.toLowerCase();
    if (this.#take("(")) return this.#call(name);
    const constant = CONSTANTS.get(name);
    if (constant !== undefined) return constant;
    throw refuse(
      FUNCTIONS.has(name)
        ? `${name} needs parentheses, as in ${name}(2)`
        : `${name} is not known; there are ${[...FUNCTIONS.keys(), ...CONSTANTS.keys()].join(", ")}`,
    );
  }

  #call(name: string): number {
    const called = FUNCTIONS.get(name);
    if (called === undefined) {
      throw refuse(`the function ${name} is not known; there are ${[...FUNCTIONS.keys()].join(", ")}`);
    }
    const values: number[] = [];
    if (!this.#take(")")) {
      do values.push(this.#sum()); while (this.#take(","));
      this.#expect(")");
    }
    const [least, most] = called.arity;
    if (values.length < least || values.length > most) {
      throw refuse(`${name} does not take ${values.length} numbers`);
    }
    return called.call(...values);
  }

  #peek(): Token | undefined {
    return this.tokens[this.#next];
  }

  #take(text: string): boolean {
    if (this.#peek()?.text !== text) return false;
    this.#next++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#unexpected(text);
  }

  #unexpected(wanted?: string): PurserError {
    const token = this.#peek();
    const instead = wanted === undefined ? "" : ` where "${wanted}" should be`;
    if (token === undefined) return refuse(`the expression ends${instead || " too early"}`);
    return refuse(`there is an unexpected "${token.text}" at position ${token.at}${instead}`);
  }
}

function roundTo(value: number, digits = 0): number {
  if (!Number.isInteger(digits) || Math.abs(digits) > 15) throw refuse("round takes from -15 to 15 digits");
  // Shifts the decimal text, because value * 10 ** digits is not exact: round(1.005, 2) is 1.01.
  const shift = (number: number, by: number) => {
    const [mantissa, exponent = "0"] = String(number).split("e");
    return Number(`${mantissa}e${Number(exponent) + by}`);
  };
  return Math.sign(value) * shift(Math.round(shift(Math.abs(value), digits)), -digits);
}
