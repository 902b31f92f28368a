import type { NumberedLine } from "../../../src/bills/reconcile/cells.ts";
import { divideHalfEven } from "../../../src/kernel/money.ts";
import type { Provider } from "./providers.ts";
import { PARTS, rates, type SimulatedCall } from "./simulated_calls.ts";

/** The lines of a simulated bill: one kind of bill for each provider. */

/** A call as its provider bills it. */
export interface Billed extends SimulatedCall {
  billedModel: string;
  billedTier: string;
  /** Micro-shares of the list price. */
  price: bigint;
  discount: bigint;
}

export const toText = (atto: bigint): string => {
  const digits = (atto < 0n ? -atto : atto).toString().padStart(19, "0");
  return `${atto < 0n ? "-" : ""}${digits.slice(0, -18)}.${digits.slice(-18)}`;
};
export const toAtto = (text: string): bigint => {
  const [whole = "0", fraction = ""] = text.replace("-", "").split(".");
  const size = BigInt(whole) * 10n ** 18n + BigInt(fraction.padEnd(18, "0").slice(0, 18));
  return text.startsWith("-") ? -size : size;
};

export function toLines(
  provider: Provider,
  bill: readonly Billed[],
  timeOf: (call: SimulatedCall) => number,
): NumberedLine[] {
  const sums = new Map<string, { line: NumberedLine; quantity: bigint; amount: bigint; list: bigint }>();
  const add = (
    series: "usage" | "cost",
    width: number,
    call: Billed,
    part: string | undefined,
    quantity: bigint,
    list: bigint,
  ) => {
    const time = timeOf(call);
    const startsAt = width === 0 ? call.at : time - time % width;
    const hasKey = series === "usage" || provider.hasKeyInCosts;
    const id = width === 0 ? call.id : undefined;
    const key = [series, startsAt, call.billedModel, call.billedTier, hasKey ? call.credential : "", part, id]
      .join("|");
    let sum = sums.get(key);
    if (!sum) {
      sums.set(
        key,
        sum = {
          line: {
            position: sums.size + 1,
            series,
            category: "usage",
            startsAt,
            endsAt: startsAt + width,
            model: call.billedModel,
            serviceTier: call.billedTier,
            ...(part !== undefined && { part }),
            ...(hasKey && { credential: call.credential }),
            ...(id !== undefined && { responseId: id }),
          },
          quantity: 0n,
          amount: 0n,
          list: 0n,
        },
      );
    }
    sum.quantity += quantity;
    sum.list += list;
    sum.amount += list * call.discount / 1_000_000n;
  };
  for (const call of bill) {
    let whole = 0n;
    for (const part of PARTS) {
      const quantity = BigInt(call.counts[part]);
      if (quantity === 0n) continue;
      const list = quantity * rates(call.model)[part] * call.price;
      whole += list;
      if (provider.usageMs !== undefined) add("usage", provider.usageMs, call, part, quantity, 0n);
      if (!provider.isWhole) add("cost", provider.costMs, call, part, quantity, list);
    }
    if (provider.isWhole) add("cost", provider.costMs, call, undefined, 0n, whole);
    if (provider.usageMs !== undefined) add("usage", provider.usageMs, call, "requests", 1n, 0n);
  }
  const rounded = (atto: bigint) => {
    if (provider.decimals === undefined) return toText(atto);
    const unit = 10n ** BigInt(18 - provider.decimals);
    return toText(divideHalfEven(atto, unit) * unit);
  };
  return [...sums.values()].map(({ line, quantity, amount, list }) =>
    line.series === "usage" ? { ...line, quantity: String(quantity) } : {
      ...line,
      currency: "USD",
      amount: rounded(amount),
      ...(amount !== list && { listAmount: rounded(list) }),
      ...(provider.hasQuantities && { quantity: String(quantity) }),
    }
  );
}
