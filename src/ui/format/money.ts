import { divideHalfEven, formatUsd, roundUsd } from "../../kernel/money.ts";

/** The text for a cost without a price, which is not $0. */
export const NO_PRICE = "no price";

/** Formats an amount of the API exactly: `$0.0001506`. */
export function exactUsd(usd: number): string {
  const text = formatUsd(roundUsd(usd));
  return text.startsWith("-") ? `-$${group(text.slice(1))}` : `$${group(text)}`;
}

/** Formats any amount, also one of an axis, as it is read best: cents from a dollar on, up to four decimals below, and then two digits that matter. */
export function shortUsd(usd: number): string {
  const nano = roundUsd(usd);
  const size = nano < 0n ? -nano : nano;
  if (size === 0n) return "$0";
  const decimals = size >= 1_000_000_000n
    ? 2
    : size >= 10_000_000n
    ? 4
    : Math.min(9, 11 - size.toString().length);
  const unit = 10n ** BigInt(9 - decimals);
  const [whole, fraction = ""] = formatUsd(divideHalfEven(size, unit) * unit).split(".");
  return `${nano < 0n ? "-" : ""}$${group(whole!)}.${fraction.padEnd(2, "0")}`;
}

function group(decimal: string): string {
  const [whole, fraction] = decimal.split(".");
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
