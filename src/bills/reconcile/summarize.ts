import type { Cause, MatchLevel } from "../../contract/bills/causes.ts";
import { toIso } from "../../kernel/clock.ts";
import { formatUsd } from "../../kernel/money.ts";
import { UNMATCHED } from "./compare_money.ts";
import { toNano } from "./exact.ts";
import type { Correction } from "../periods/periods.ts";
import type { OpenMonth } from "./open_month.ts";
import type { StoredVariance } from "./reconcile_month.ts";
import type { Reconciled } from "./reconciler.ts";

/** The sums of a comparison; amounts are texts of USD. */
export interface Totals {
  lines: number;
  calls: number;
  split: Record<"volume" | "price" | "other" | "rounding", string>;
  causes: { cause: Cause; amount: string; variances: number }[];
  inScope: string;
  matched: Record<MatchLevel, string>;
  confirmed: string;
  bypass: { credential: string | null; amount: string; cells: number }[];
  unnamedKeys: number;
  others: { currency: string; lines: number; amount: string }[];
  roundingBound: string;
  wholeUntil: string;
  /** The day from which the provider's bill no longer changes. */
  finalOn: string;
  /** Those that were compared: see `OpenMonth`. */
  linesState?: string;
  corrections: { month: string; bill: string; ledger: string }[];
}

/** The causes of lines that are of no calls. */
const OF_NO_CALLS: ReadonlySet<Cause> = new Set([
  ...["tool_fee", "storage", "session", "fee", "credit", "commitment", "tax", "correction"] as const,
]);
const OF_NO_CALL_USAGE: ReadonlySet<Cause> = new Set(["tool_fee", "storage", "session"]);

/** Adds up what a comparison has found. */
export function summarize(
  result: Reconciled,
  variances: readonly StoredVariance[],
  { setup, unnamedKeys, linesState, corrections, finalOn }: OpenMonth & {
    corrections: readonly Correction[];
    finalOn: string;
  },
): Totals {
  const split = { volume: 0n, price: 0n, other: 0n, rounding: 0n };
  const causes = new Map<Cause, { amount: bigint; variances: number }>();
  const bypass = new Map<string | null, { amount: bigint; cells: number }>();
  let [foreign, unconfirmed] = [0n, 0n];
  for (const { cause, quantity, amountNanoUsd, dimensions, cells } of variances) {
    const kind = cause === "rounding"
      ? cause
      : OF_NO_CALLS.has(cause)
      ? "other"
      : quantity !== 0n
      ? "volume"
      : "price";
    split[kind] += amountNanoUsd;
    const sum = causes.get(cause) ?? { amount: 0n, variances: 0 };
    causes.set(cause, { amount: sum.amount + amountNanoUsd, variances: sum.variances + 1 });
    if (cause === "bypass") {
      const key = dimensions.credential ?? null;
      const known = bypass.get(key) ?? { amount: 0n, cells: 0 };
      bypass.set(key, { amount: known.amount + amountNanoUsd, cells: known.cells + cells });
      if (setup.own && !setup.own.has(key ?? "")) foreign += amountNanoUsd;
    }
    if (OF_NO_CALL_USAGE.has(cause)) foreign += amountNanoUsd;
    const isUnconfirmed = cause === "late" || cause === "not_billed" || cause === "currency" ||
      UNMATCHED.has(cause);
    if (isUnconfirmed && amountNanoUsd < 0n) unconfirmed -= amountNanoUsd;
  }
  const matched = Object.entries(result.matched).map(([level, amount]) => [level, formatUsd(toNano(amount))]);
  const byAmount = (one: { amount: bigint }, other: { amount: bigint }) =>
    Number(sizeOf(other.amount) - sizeOf(one.amount));
  return {
    lines: result.lines,
    calls: result.calls,
    split: Object.fromEntries(
      Object.entries(split).map(([name, amount]) => [name, formatUsd(amount)]),
    ) as Totals["split"],
    causes: [...causes].map(([cause, sum]) => ({ cause, ...sum })).sort(byAmount).map(toTexts),
    inScope: formatUsd(toNano(result.billedUsage) - foreign),
    matched: Object.fromEntries(matched) as Totals["matched"],
    confirmed: formatUsd(result.bookedNanoUsd - unconfirmed),
    bypass: [...bypass].map(([credential, sum]) => ({ credential, ...sum })).sort(byAmount).map(toTexts),
    unnamedKeys,
    others: [...result.others].map(([currency, { lines, amount }]) => ({
      currency,
      lines,
      amount: formatUsd(toNano(amount)),
    })),
    roundingBound: formatUsd(toNano(result.roundingBound)),
    wholeUntil: toIso(setup.whole.to),
    finalOn,
    linesState,
    corrections: corrections.map(({ month, billNanoUsd, ledgerNanoUsd }) => ({
      month,
      bill: formatUsd(billNanoUsd),
      ledger: formatUsd(ledgerNanoUsd),
    })),
  };
}

const sizeOf = (amount: bigint) => amount < 0n ? -amount : amount;
const toTexts = <Sum extends { amount: bigint }>(sum: Sum) => ({ ...sum, amount: formatUsd(sum.amount) });
