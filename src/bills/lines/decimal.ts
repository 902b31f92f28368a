import { PurserError } from "../../kernel/errors.ts";

/** A decimal number of any precision: `units / 10 ** scale`. */
export interface Decimal {
  units: bigint;
  scale: number;
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/;

/** The most digits before and after the point: providers have stated 39 decimals in 2026-06. */
const MAX_DIGITS = 200;

/**
 * Reads a decimal number from its text. A zero may have any exponent: OpenAI's costs have `0E-6176` since 2026-06.
 *
 * @throws {PurserError} `invalid` for what is no number, or has more than 200 digits before or after the point
 */
export function parseDecimal(text: string, what = "a number"): Decimal {
  const [, sign, whole = "", fraction = "", exponent = "0"] = DECIMAL.exec(text.trim()) ?? [];
  if (whole + fraction === "") {
    throw new PurserError(
      "invalid",
      `Cannot read ${what}: ${text.slice(0, 50) || "an empty text"} is not a number`,
    );
  }
  let units = BigInt(whole + fraction);
  let scale = fraction.length - Number(exponent);
  if (units === 0n) return { units, scale: 0 };
  if (
    scale > MAX_DIGITS || whole.length - fraction.length - scale > MAX_DIGITS || whole.length > MAX_DIGITS
  ) {
    throw new PurserError("invalid", `Cannot read ${what}: it has more than ${MAX_DIGITS} digits`);
  }
  if (scale < 0) units *= 10n ** BigInt(-scale);
  for (scale = Math.max(0, scale); scale > 0 && units % 10n === 0n; scale--) units /= 10n;
  return { units: sign === "-" ? -units : units, scale };
}

/** Formats a decimal number without an exponent: `0.0004125`. */
export function formatDecimal({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, "0");
  const fraction = scale === 0 ? "" : digits.slice(-scale).replace(/0+$/, "");
  const text = digits.slice(0, digits.length - scale) + (fraction && `.${fraction}`);
  return units < 0n ? `-${text}` : text;
}

/** Moves the point by some digits: -2 makes dollars of cents. */
export function movePoint(text: string, digits: number, what?: string): string {
  const { units, scale } = parseDecimal(text, what);
  const moved = scale - digits;
  return formatDecimal(
    moved < 0 ? { units: units * 10n ** BigInt(-moved), scale: 0 } : { units, scale: moved },
  );
}

/** Returns whether a decimal is zero, however it is written, such as `0.00`. */
export const isZero = (text: string): boolean => parseDecimal(text).units === 0n;

/** Adds decimal numbers exactly. */
export function addDecimals(texts: Iterable<string>): string {
  let sum: Decimal = { units: 0n, scale: 0 };
  for (const text of texts) {
    const { units, scale } = parseDecimal(text);
    const widest = Math.max(sum.scale, scale);
    const scaled = (units: bigint, scale: number) => units * 10n ** BigInt(widest - scale);
    sum = { units: scaled(sum.units, sum.scale) + scaled(units, scale), scale: widest };
  }
  return formatDecimal(sum);
}
