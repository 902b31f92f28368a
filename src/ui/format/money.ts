import { divideHalfEven, formatUsd, roundUsd } from "../../kernel/money.ts";

/** The text for a cost without a price, which is not $0. */
export const NO_PRICE = "no price";

/** Formats an amount of the API exactly: `$0.0001506`. */
export function exactUsd(usd: number): string {
  const text = formatUsd(roundUsd(usd));
  return text.startsWith("-") ? `-$${group(text.slice(1))}` : `$${group(text)}`;
}

/**
 * Formats any amount, also one of an axis, as it is read best: cents from a dollar on, up to four decimals below, and then two
 * digits that matter. With `decimals`, an amount has exactly those of its column, unless it would read as zero.
 */
export function shortUsd(usd: number, decimals?: number): string {
  const nano = roundUsd(usd);
  const size = nano < 0n ? -nano : nano;
  if (size === 0n) return "$0";
  const ofColumn = decimals !== undefined && roundTo(size, decimals) > 0n ? decimals : undefined;
  const [whole, fraction = ""] = formatUsd(roundTo(size, ofColumn ?? mostDecimalsOf(size))).split(".");
  return `${nano < 0n ? "-" : ""}$${group(whole!)}.${fraction.padEnd(ofColumn ?? 2, "0")}`;
}

/** Returns the decimals that all amounts of a column have: two if it has a dollar, else those that its largest amount needs. */
export function decimalsOf(amounts: readonly (number | null | undefined)[]): number {
  const sizes = amounts.map((usd) => roundUsd(Math.abs(usd ?? 0)));
  const largest = sizes.reduce((most, size) => size > most ? size : most, 0n);
  const most = mostDecimalsOf(largest);
  const used = (size: bigint) => formatUsd(roundTo(size, most)).split(".")[1]?.length ?? 0;
  return Math.max(2, ...sizes.map(used));
}

function mostDecimalsOf(size: bigint): number {
  if (size >= 1_000_000_000n) return 2;
  return size >= 10_000_000n ? 4 : Math.min(9, 11 - size.toString().length);
}

function roundTo(size: bigint, decimals: number): bigint {
  const unit = 10n ** BigInt(9 - decimals);
  return divideHalfEven(size, unit) * unit;
}

function group(decimal: string): string {
  const [whole, fraction] = decimal.split(".");
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
