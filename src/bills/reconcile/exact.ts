import { divideHalfEven, type NanoUsd } from "../../kernel/money.ts";
import { parseDecimal } from "../lines/decimal.ts";

/*
 * Amounts are compared in atto-USD, a billionth of a nano-USD, and quantities in millionths: bills have more digits than nano-USD, and
 * a difference that is split has to add up again.
 */

/** An amount in units of 10^-18 USD. */
export type AttoUsd = bigint;

/** A quantity in millionths of its unit. */
export type MicroUnits = bigint;

export const ATTO_PER_NANO = 1_000_000_000n;
export const ATTO_PER_PICO = 1_000_000n;
const ATTO_DIGITS = 18;

export const MICRO = 1_000_000n;
const MICRO_DIGITS = 6;

function scaled(text: string, digits: number): bigint {
  const { units, scale } = parseDecimal(text);
  return scale <= digits
    ? units * 10n ** BigInt(digits - scale)
    : divideHalfEven(units, 10n ** BigInt(scale - digits));
}

/** Reads an amount in USD; digits after the eighteenth are rounded. */
export const toAtto = (text: string): AttoUsd => scaled(text, ATTO_DIGITS);

/** Reads a quantity; digits after the sixth are rounded. */
export const toMicro = (text: string): MicroUnits => scaled(text, MICRO_DIGITS);

/** Rounds an amount half to even. */
export const toNano = (atto: AttoUsd): NanoUsd => divideHalfEven(atto, ATTO_PER_NANO);

export const sizeOf = (value: bigint): bigint => value < 0n ? -value : value;
export const lesser = (one: bigint, other: bigint): bigint => one < other ? one : other;

/** Returns `amount * part / whole`, rounded half to even; 0 of nothing. */
export const shareOf = (amount: AttoUsd, part: bigint, whole: bigint): AttoUsd =>
  whole === 0n ? 0n : divideHalfEven(amount * part, whole);
