import type { StatedCostReason } from "../../contract/costs/stated_costs.ts";
import { NANO_PER_USD, type NanoUsd } from "../../kernel/money.ts";
import { hasQuantity, type Usage } from "../usage/usage.ts";
import { type Bill, findAmount, type StatedAmount } from "./bills.ts";
import type { Statement } from "./statement.ts";

/** The cost that an answer states. */
export interface StatedCost {
  nanoUsd: NanoUsd;
  /** The reason that it isn't the bill of the call; undefined if it is. */
  reason?: StatedCostReason;
}

/** The largest cost of one call that a provider is believed. */
const MAX_STATED_NANO_USD = 10_000n * NANO_PER_USD;

/** Returns false for an answer of which nothing is known that could state a cost. */
export function mayState({ usage, gateway, headers }: Statement): boolean {
  return usage !== undefined || gateway !== undefined || headers !== undefined;
}

/** Decides whether what an answer states is its bill; undefined if it states nothing. */
export function readStatedCost(
  statement: Statement,
  call: { bill: Bill | undefined; model: string; usage: Usage; hasPriceRow: boolean },
): StatedCost | undefined {
  const own = call.bill?.read(statement);
  const amount = own ?? findAmount(statement);
  if (amount === undefined) return undefined;
  const reason = reasonAgainst(amount, { ...call, isDocumented: own !== undefined });
  return { nanoUsd: amount.nanoUsd, ...(reason && { reason }) };
}

function reasonAgainst(
  { nanoUsd, isFeeOnly }: StatedAmount,
  { bill, model, usage, hasPriceRow, isDocumented }: {
    bill: Bill | undefined;
    model: string;
    usage: Usage;
    hasPriceRow: boolean;
    isDocumented: boolean;
  },
): StatedCostReason | undefined {
  if (hasPriceRow) return "price_row";
  if (!isDocumented) return "undocumented";
  if (nanoUsd > MAX_STATED_NANO_USD) return "absurd";
  if (nanoUsd === 0n && bill?.isFree?.(model)) return undefined;
  if (isFeeOnly) return "own_key";
  return nanoUsd === 0n && hasQuantity(usage) ? "zero" : undefined;
}
