import { addDecimals } from "./decimal.ts";

/** Adds what a line bills to the sums of each currency; what a subscription or another provider pays for is in none. */
export function addBilled(
  sums: Map<string, string>,
  { series, amount, currency, isEquivalent }: {
    series: string;
    amount?: string | null | undefined;
    currency?: string | null | undefined;
    isEquivalent?: boolean | undefined;
  },
): void {
  if (series !== "cost" || amount == null || currency == null || isEquivalent) return;
  sums.set(currency, addDecimals([sums.get(currency) ?? "0", amount]));
}
