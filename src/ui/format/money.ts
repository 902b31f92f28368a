import {
  formatUsd,
  groupThousands,
  roundToDecimals,
  roundUsd,
  shortDecimals,
  shortUsd as shortNanoUsd,
} from "../../kernel/money.ts";

/** The text for a cost without a price, which is not $0. */
export const NO_PRICE = "no price";

/** Formats an amount of the API exactly: `$0.0001506`. */
export function exactUsd(usd: number): string {
  const text = formatUsd(roundUsd(usd));
  const [whole = "", fraction] = text.replace("-", "").split(".");
  const grouped = fraction === undefined ? groupThousands(whole) : `${groupThousands(whole)}.${fraction}`;
  return `${text.startsWith("-") ? "-" : ""}$${grouped}`;
}

/** Formats an amount of the API, also one of an axis, as `shortUsd` of the kernel does. */
export function shortUsd(usd: number, decimals?: number): string {
  return shortNanoUsd(roundUsd(usd), decimals);
}

/** Returns the decimals that all amounts of a column have: two if it has a dollar, else those that its largest amount needs. */
export function decimalsOf(amounts: readonly (number | null | undefined)[]): number {
  const sizes = amounts.map((usd) => roundUsd(Math.abs(usd ?? 0)));
  const largest = sizes.reduce((most, size) => size > most ? size : most, 0n);
  const most = shortDecimals(largest);
  const used = (size: bigint) => formatUsd(roundToDecimals(size, most)).split(".")[1]?.length ?? 0;
  return Math.max(2, ...sizes.map(used));
}
