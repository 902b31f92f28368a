import { divideHalfEven, formatUsd, type NanoUsd } from "../../kernel/money.ts";

/** `1,234`. */
export function countText(count: number | bigint): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString takes a hundred times as long
}

/** `$1.25`: to the hundredth of a cent where there is that much, else exactly. */
export function costText(amount: NanoUsd): string {
  const rounded = divideHalfEven(amount, 100_000n) * 100_000n;
  return `$${formatUsd(rounded === 0n ? amount : rounded)}`;
}

/** A name that a model has made up, on one line and not too long. */
export function nameText(name: string): string {
  const line = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
  const characters = [...line];
  return characters.length <= 64 ? line : characters.slice(0, 63).join("") + "…";
}
