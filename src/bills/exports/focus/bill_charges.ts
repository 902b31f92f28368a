import { and, between, eq, ne } from "drizzle-orm";
import { toIso } from "../../../kernel/clock.ts";
import { startInUtc } from "../../../contract/windows.ts";
import { type Query, tables } from "../../../store/mod.ts";
import { toDecimalText } from "../decimal_text.ts";
import type { ExportCell } from "../../../contract/exports.ts";
import { SERVICE, toFocusTime } from "./focus_columns.ts";
import { sellerOf } from "./sellers.ts";

const { billLines } = tables;

/** A line of a bill that is not of calls: a fee, a purchase, a tax, a credit or an adjustment. */
export type SharedLine = typeof billLines.$inferSelect;

/** Reads the current lines in USD of the bills of some months that are not of calls, in order; `YYYY-MM`, both inclusive. */
export async function readSharedLines(
  query: Query,
  months: { from: string; to: string },
): Promise<SharedLine[]> {
  const rows = await query.select().from(billLines).where(and(
    eq(billLines.state, "current"),
    eq(billLines.series, "cost"),
    ne(billLines.category, "usage"),
    eq(billLines.currency, "USD"),
    eq(billLines.isEquivalent, false),
    between(billLines.month, months.from, months.to),
  )).orderBy(billLines.month, billLines.source, billLines.startsAt, billLines.position);
  return rows.filter(({ amountNanoUsd }) => amountNanoUsd !== null);
}

const CATEGORIES = {
  purchase: "Purchase",
  fee: "Purchase",
  tax: "Tax",
  credit: "Credit",
  adjustment: "Adjustment",
} as const;

/** Returns the time of a month, `YYYY-MM`. */
const timeOfMonth = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** Returns the rows of lines that are billed from one time to before another. */
export async function billRows(
  query: Query,
  { from, to }: { from: number; to: number },
): Promise<Record<string, ExportCell>[]> {
  const monthOf = (at: number) => toIso(at).slice(0, 7);
  const lines = await readSharedLines(query, { from: monthOf(from), to: monthOf(Math.max(from, to - 1)) });
  return lines.filter(({ month, startsAt }) => {
    const at = Math.max(startsAt, timeOfMonth(month));
    return at >= from && at < to;
  }).map(toBillRow);
}

function toBillRow(line: SharedLine): Record<string, ExportCell> {
  const { source, account, category, month, startsAt, endsAt, sku, model } = line;
  const charge = CATEGORIES[category as keyof typeof CATEGORIES];
  const seller = sellerOf(source);
  const amount = toDecimalText(line.amountNanoUsd!, 9);
  const list = line.listNanoUsd === null ? amount : toDecimalText(line.listNanoUsd, 9);
  const isPurchase = charge === "Purchase";
  const skuId = sku ?? `${source}/${category}`;
  const billedIn = timeOfMonth(month);
  return {
    ...SERVICE,
    BilledCost: amount,
    BillingAccountId: account || source,
    BillingPeriodStart: toFocusTime(billedIn),
    BillingPeriodEnd: toFocusTime(startInUtc("month", billedIn, 1)),
    ChargeCategory: charge,
    // It belongs to a month that was closed before it came.
    ChargeClass: startInUtc("month", startsAt) < billedIn ? "Correction" : null,
    ChargeDescription: [source, category, sku, model].filter(Boolean).join(" "),
    ChargeFrequency: "One-Time",
    ChargePeriodStart: toFocusTime(startsAt),
    ChargePeriodEnd: toFocusTime(Math.max(endsAt, startsAt + 1_000)),
    ContractedCost: amount,
    EffectiveCost: amount,
    HostProviderName: seller.host,
    InvoiceIssuerName: seller.name,
    ListCost: list,
    ProviderName: seller.name,
    PublisherName: seller.name,
    ServiceName: seller.service,
    ServiceProviderName: seller.name,
    Tags: "{}",
    ...(isPurchase && {
      ContractedUnitPrice: amount,
      ListUnitPrice: list,
      PricingCategory: "Standard",
      PricingQuantity: "1.0",
      PricingUnit: "Units",
      SkuId: skuId,
      SkuMeter: category === "fee" ? "Fee" : "Purchase",
      SkuPriceId: `${skuId}/${amount}`,
    }),
    x_RoundingUsd: "0.0",
  };
}
