import type { Cause, MatchLevel } from "../../contract/bills/causes.ts";
import type { Reconciliation } from "../../contract/bills/reconciliations.ts";
import { formatUsd, toUsd } from "../../kernel/money.ts";
import { UNMATCHED } from "./compare_money.ts";
import { sizeOf, toNano } from "./exact.ts";
import type { OpenMonth } from "./open_month.ts";
import type { StoredVariance } from "./reconcile_month.ts";
import type { Reconciled } from "./reconciler.ts";

/** The sums of a comparison, as they are stored and shown. */
export interface Totals extends
  Pick<
    Reconciliation,
    | "final_on"
    | "lines"
    | "calls"
    | "split"
    | "coverage"
    | "bypass"
    | "unnamed_keys"
    | "others"
    | "rounding_bound_usd"
  > {
  causes: Omit<Reconciliation["causes"][number], "remedy" | "advice">[];
}

/** The causes of lines that are of no calls. */
const OF_NO_CALLS: ReadonlySet<Cause> = new Set([
  ...[
    "tool_fee",
    "storage",
    "session",
    "fee",
    "minimum",
    "credit",
    "commitment",
    "tax",
    "correction",
  ] as const,
]);
const OF_NO_CALL_USAGE: ReadonlySet<Cause> = new Set(["tool_fee", "storage", "session"]);

/** Adds up what a comparison has found. */
export function summarize(
  result: Reconciled,
  variances: readonly StoredVariance[],
  { setup, unnamedKeys }: OpenMonth,
  finalOn: string,
): Totals {
  const split = { volume: 0n, price: 0n, other: 0n, rounding: 0n };
  const causes = new Map<Cause, { amount: bigint; variances: number }>();
  const bypass = new Map<string | null, { amount: bigint; cells: number }>();
  let inScope = toNano(result.billedUsage);
  let confirmed = result.bookedNanoUsd;
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
      if (setup.own && !setup.own.has(key ?? "")) inScope -= amountNanoUsd;
    }
    if (OF_NO_CALL_USAGE.has(cause)) inScope -= amountNanoUsd;
    const isUnconfirmed = cause === "late" || cause === "not_billed" || cause === "fx" ||
      UNMATCHED.has(cause);
    if (isUnconfirmed && amountNanoUsd < 0n) confirmed += amountNanoUsd;
  }
  const levels = Object.entries(result.matched).map(([level, amount]) => [level, toNano(amount)] as const);
  const matched = levels.reduce((sum, [, amount]) => sum + amount, 0n);
  return {
    final_on: finalOn,
    lines: result.lines,
    calls: result.calls,
    split: {
      volume_usd: toUsd(split.volume),
      price_usd: toUsd(split.price),
      other_usd: toUsd(split.other),
      rounding_usd: toUsd(split.rounding),
    },
    causes: [...causes].sort(byAmount).map(([cause, { amount, variances }]) => ({
      cause,
      amount_usd: toUsd(amount),
      variances,
    })),
    coverage: {
      in_scope_usd: toUsd(inScope),
      matched_usd: toUsd(matched),
      of_scope: shareOf(matched, inScope),
      of_account: shareOf(matched, toNano(result.billed)),
      levels: Object.fromEntries(levels.map(([level, amount]) => [level, toUsd(amount)])) as Record<
        MatchLevel,
        number
      >,
      confirmed_usd: toUsd(confirmed),
      of_ledger: shareOf(confirmed, result.bookedNanoUsd),
    },
    bypass: [...bypass].sort(byAmount).map(([credential, { amount, cells }]) => ({
      credential,
      amount_usd: toUsd(amount),
      cells,
    })),
    unnamed_keys: unnamedKeys,
    others: [...result.others].map(([currency, { lines, amount }]) => ({
      currency,
      lines,
      amount: formatUsd(toNano(amount)),
    })),
    rounding_bound_usd: toUsd(toNano(result.roundingBound)),
  };
}

type Sum = readonly [unknown, { amount: bigint }];
const byAmount = ([, one]: Sum, [, other]: Sum) => Number(sizeOf(other.amount) - sizeOf(one.amount));

/** Returns a share with six decimals, rounded down: less than all is never shown as all. */
function shareOf(part: bigint, whole: bigint): number | null {
  if (whole <= 0n) return null;
  return part <= 0n ? 0 : Number(part * 1_000_000n / whole) / 1_000_000;
}
