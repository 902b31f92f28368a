import { parseUsd, toUsd } from "../../kernel/money.ts";

/** Parses an amount of USD, with or without its sign. Throws an error that says why. */
export function parseAmount(text: string): number {
  const amount = parseUsd(text.replace(/^\$/, ""));
  if (amount < 0n) throw new Error(`${text} is negative`);
  return toUsd(amount);
}
