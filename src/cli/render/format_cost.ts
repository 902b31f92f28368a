import {
  formatUsd,
  groupThousands,
  NANO_PER_USD,
  type NanoUsd,
  parseTotalUsd,
  roundToDecimals,
} from "../../kernel/money.ts";
import type { Column } from "./render_table.ts";

export { nameUncounted } from "../../kernel/counts.ts";

/** Formats an exact amount, as `$0.0001506`; null is a cost without a known price. */
export function formatCost(usd: number | null): string {
  return usd === null ? "no price" : `$${formatUsd(parseTotalUsd(usd))}`.replace("$-", "-$");
}

/** Returns the decimals to which an amount is rounded in a table: fewer for a larger one. */
export function decimalsShown(amount: NanoUsd): number {
  if (amount >= 1_000n * NANO_PER_USD) return 2;
  return amount >= NANO_PER_USD ? 4 : amount >= NANO_PER_USD / 100n ? 6 : 9;
}

/**
 * Formats the amounts of a column with one number of decimals, which is lower for larger amounts. A positive amount that
 * rounds to zero is `<$0.01`.
 */
export function formatAmounts(amounts: readonly NanoUsd[]): string[] {
  const most = decimalsShown(amounts.reduce((max, amount) => (amount > max ? amount : max), 0n));
  const rounded = amounts.map((amount) => roundToDecimals(amount, most));
  const used = Math.max(2, ...rounded.map((amount) => formatUsd(amount).split(".")[1]?.length ?? 0));
  return rounded.map((amount, index) =>
    amounts[index] === 0n
      ? "$0"
      : amount === 0n
      ? `<$${"0.".padEnd(most + 1, "0")}1`
      : `$${fix(amount, used)}`
  );
}

function fix(amount: NanoUsd, decimals: number): string {
  const [whole = "0", fraction = ""] = formatUsd(amount).split(".");
  return `${groupThousands(whole)}.${fraction.padEnd(decimals, "0")}`;
}

/** Returns what the calls of a row that a plan pays for would cost by the API. */
export const planOf = ({ plan_usd }: { plan_usd?: number | null | undefined }): NanoUsd =>
  parseTotalUsd(plan_usd ?? 0);

/** Returns a column of what plans pay for, by the API's prices; none where that is nothing. */
export function planColumn<Row>(rows: readonly Row[], planOf: (row: Row) => NanoUsd): Column<Row>[] {
  const plans = rows.map(planOf);
  if (plans.every((plan) => plan === 0n)) return [];
  const amounts = formatAmounts(plans.map((plan) => plan < 0n ? -plan : plan));
  const cellOf = (plan: NanoUsd, amount: string) => plan === 0n ? "" : (plan < 0n ? "-" : "") + amount;
  const cells = new Map(rows.map((row, index) => [row, cellOf(plans[index]!, amounts[index]!)]));
  return [{ title: "PLAN VALUE", align: "right", cell: (row) => cells.get(row)! }];
}

/** Formats a share: `82%`; empty for 0. */
export function formatShare(part: NanoUsd, whole: NanoUsd): string {
  if (part === 0n || whole === 0n) return "";
  const percent = Number(part * 1000n / whole) / 10;
  if (percent < 1) return "<1%";
  return `${Math.round(percent)}%`;
}

/** Formats a change in percent: `+12%`; empty if an amount is unknown or missing. */
export function formatChange(before: NanoUsd | null, after: NanoUsd | null): string {
  if (before === null || after === null || before === 0n) return "";
  const percent = Number((after - before) * 1000n / before) / 10;
  return `${percent > 0 ? "+" : ""}${Math.round(percent)}%`;
}
