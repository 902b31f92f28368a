import { PurserError } from "./errors.ts";

/**
 * An amount of money as an integer number of nano-USD (1 USD = 1,000,000,000). The only form in which
 * amounts are added, compared and stored; a 64-bit column holds 9.2 billion USD.
 */
export type NanoUsd = bigint;

/** One USD in nano-USD. */
export const NANO_PER_USD = 1_000_000_000n;

/** A price per token as an integer number of pico-USD: 1 USD per million tokens is 1,000,000. */
export type PicoUsdPerToken = bigint;

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** The largest single amount that is read: a billion USD. Sums of such amounts may be larger, and exceed 64 bits. */
const MAX_NANO_USD = 1_000_000_000n * NANO_PER_USD;

/**
 * Parses a decimal number as `mantissa * 10 ** -scale`. A JS number is parsed from its shortest decimal form, which is
 * what its author wrote.
 */
function parseDecimal(value: number | string, what: string): { mantissa: bigint; scale: number } {
  const text = String(value).trim();
  const match = DECIMAL.exec(text);
  if (!match || (match[2] === "" && (match[3] ?? "") === "")) {
    throw new PurserError("invalid", `Cannot read ${what}: ${text || "an empty text"} is not a number`);
  }
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const power = Number(exponent);
  if (Math.abs(power) > 400) throw new PurserError("invalid", `Cannot read ${what}: ${text} is out of range`);
  let mantissa = BigInt(whole + fraction);
  let scale = fraction.length - power;
  if (scale < 0) {
    mantissa *= 10n ** BigInt(-scale);
    scale = 0;
  }
  return { mantissa: sign === "-" ? -mantissa : mantissa, scale };
}

/** Divides and rounds half to even, as every amount is rounded. */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  if (denominator < 0n) return divideHalfEven(-numerator, -denominator);
  let quotient = numerator / denominator;
  let remainder = numerator % denominator;
  if (remainder < 0n) {
    quotient -= 1n;
    remainder += denominator;
  }
  const twice = remainder * 2n;
  if (twice > denominator || (twice === denominator && (quotient & 1n) === 1n)) quotient += 1n;
  return quotient;
}

function checkRange(nano: NanoUsd, what: string): NanoUsd {
  if (nano > MAX_NANO_USD || nano < -MAX_NANO_USD) {
    throw new PurserError("invalid", `Cannot read ${what}: it is over a billion USD`);
  }
  return nano;
}

/**
 * Parses a single amount of USD exactly. Throws `invalid` on more than nine decimals, as a limit must not be rounded,
 * and above a billion USD.
 */
export function parseUsd(value: number | string, what = "an amount in USD"): NanoUsd {
  return checkRange(parseTotalUsd(value, what), what);
}

/** Parses a sum of USD of any size exactly. Throws `invalid` on more than nine decimals. */
export function parseTotalUsd(value: number | string, what = "a sum in USD"): NanoUsd {
  const { mantissa, scale } = parseDecimal(value, what);
  if (scale <= 9) return mantissa * 10n ** BigInt(9 - scale);
  const divisor = 10n ** BigInt(scale - 9);
  if (mantissa % divisor !== 0n) {
    throw new PurserError("invalid", `Cannot read ${what}: ${value} has more than nine decimals`);
  }
  return mantissa / divisor;
}

/** Parses USD and rounds half to even to nano-USD, for reported costs. Throws `invalid` above a billion USD. */
export function roundUsd(value: number | string, what = "an amount in USD"): NanoUsd {
  return sumUsd([value], { what });
}

/**
 * Adds amounts in units of `10 ** exponent` USD exactly, and rounds the sum half to even to nano-USD. Throws `invalid` above a
 * billion USD.
 */
export function sumUsd(
  values: readonly (number | string)[],
  { exponent = 0, what = "an amount in USD" }: { exponent?: number; what?: string } = {},
): NanoUsd {
  const decimals = values.map((value) => parseDecimal(value, what));
  const scale = Math.max(...decimals.map((decimal) => decimal.scale));
  const sum = decimals.reduce((sum, each) => sum + each.mantissa * 10n ** BigInt(scale - each.scale), 0n);
  const shift = 9 + exponent - scale;
  if (shift >= 0) return checkRange(sum * 10n ** BigInt(shift), what);
  return checkRange(divideHalfEven(sum, 10n ** BigInt(-shift)), what);
}

/** Parses a price in USD per million tokens as pico-USD per token, rounded half to even. */
export function parseUsdPerMillion(value: number | string, what = "a price"): PicoUsdPerToken {
  const { mantissa, scale } = parseDecimal(value, what);
  return scale <= 6
    ? mantissa * 10n ** BigInt(6 - scale)
    : divideHalfEven(mantissa, 10n ** BigInt(scale - 6));
}

/** Formats an amount as exact decimal USD without trailing zeros: `0.0001506`. */
export function formatUsd(nano: NanoUsd): string {
  const sign = nano < 0n ? "-" : "";
  const digits = (nano < 0n ? -nano : nano).toString().padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0+$/, "");
  return sign + digits.slice(0, -9) + (fraction ? "." + fraction : "");
}

/**
 * Formats any amount as it is read best: `$12.50`, cents from a dollar on, up to four decimals below, and below a cent two
 * digits that matter, so that nothing but zero reads as `$0`. With `decimals`, an amount has exactly those, unless it would
 * read as zero.
 */
export function shortUsd(nano: NanoUsd, decimals?: number): string {
  const size = nano < 0n ? -nano : nano;
  if (size === 0n) return "$0";
  const fixed = decimals !== undefined && roundToDecimals(size, decimals) > 0n ? decimals : undefined;
  const [whole, fraction = ""] = formatUsd(roundToDecimals(size, fixed ?? shortDecimals(size))).split(".");
  return `${nano < 0n ? "-" : ""}$${groupThousands(whole!)}.${fraction.padEnd(fixed ?? 2, "0")}`;
}

/** Returns the decimals that `shortUsd` keeps of a positive amount, at most. */
export function shortDecimals(size: NanoUsd): number {
  if (size >= NANO_PER_USD) return 2;
  return size >= NANO_PER_USD / 100n ? 4 : Math.min(9, 11 - size.toString().length);
}

/** Rounds half to even, to at most nine decimals. */
export function roundToDecimals(nano: NanoUsd, decimals: number): NanoUsd {
  const unit = 10n ** BigInt(9 - decimals);
  return divideHalfEven(nano, unit) * unit;
}

/** Separates the thousands of a whole number: `1,234,567`. */
export function groupThousands(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Converts `units / 10 ** decimals` to the nearest double, whose shortest text is that decimal number. */
export function toDecimal(units: bigint, decimals: number): number {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0");
  const text = `${digits.slice(0, digits.length - decimals)}.${digits.slice(digits.length - decimals)}`;
  return units < 0n ? -Number(text) : Number(text);
}

/**
 * Converts an amount to the USD number of the wire: the nearest double, whose shortest text has at most nine decimals.
 * It is exact to the nano-USD up to 4,194,304 USD; above, JSON numbers are coarser.
 */
export function toUsd(nano: NanoUsd): number {
  return Number(formatUsd(nano));
}
