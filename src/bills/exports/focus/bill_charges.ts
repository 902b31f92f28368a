import { and, between, eq, inArray, isNotNull, lt, max, min, ne, sql } from "drizzle-orm";
import type { Cause } from "../../../contract/bills/causes.ts";
import { toIso } from "../../../kernel/clock.ts";
import { startInUtc } from "../../../contract/windows.ts";
import { COUNTED_LINE_STATES } from "../../../contract/values.ts";
import { type Query, tables } from "../../../store/mod.ts";
import { toDecimalText } from "../decimal_text.ts";
import type { ExportCell } from "../../../contract/exports.ts";
import { SERVICE, toFocusTime } from "./focus_columns.ts";
import { sellerOf } from "./sellers.ts";

const { billLines, billPeriods, variances } = tables;

/** A line of a bill that is not of calls: a fee, a purchase, a tax, a credit or an adjustment. */
export type SharedLine = typeof billLines.$inferSelect;

/** The lines in USD that count in some months; `YYYY-MM`, both inclusive. */
const countedIn = ({ from, to }: { from: string; to: string }) =>
  and(
    inArray(billLines.state, [...COUNTED_LINE_STATES]),
    eq(billLines.series, "cost"),
    eq(billLines.currency, "USD"),
    eq(billLines.isEquivalent, false),
    isNotNull(billLines.amountNanoUsd),
    between(billLines.month, from, to),
  );

/** Reads the lines of the bills of some months that are not of calls, in order. */
export async function readSharedLines(
  query: Query,
  months: { from: string; to: string },
): Promise<SharedLine[]> {
  return await query.select().from(billLines).where(and(ne(billLines.category, "usage"), countedIn(months)))
    .orderBy(billLines.month, billLines.source, billLines.startsAt, billLines.position);
}

const CATEGORIES = {
  purchase: "Purchase",
  fee: "Purchase",
  tax: "Tax",
  credit: "Credit",
  adjustment: "Adjustment",
} as const;

/** A charge that is of no call. */
type BilledCharge =
  & Pick<SharedLine, "source" | "account" | "month" | "startsAt" | "endsAt" | "model" | "amountNanoUsd">
  & {
    category: keyof typeof CATEGORIES;
    sku: string | null;
    listNanoUsd: bigint | null;
    cause?: Cause;
  };

/** The causes whose lines are charges of their own, or in another currency. */
const OF_LINES: ReadonlySet<Cause> = new Set(
  ["fee", "credit", "commitment", "minimum", "tax", "fx", "correction"] as const,
);

/**
 * Reads what makes the calls of closed months their bills: the differences of the comparison with which a month was closed, by cause
 * and model, and, in the month in which they count, the changes of the lines of usage since.
 */
async function readDifferences(
  query: Query,
  months: { from: string; to: string },
): Promise<BilledCharge[]> {
  const closed = await query.select().from(billPeriods).where(and(
    eq(billPeriods.state, "closed"),
    isNotNull(billPeriods.providers),
    lt(billPeriods.month, nextOf(months.to)),
  )).orderBy(billPeriods.month, billPeriods.source, billPeriods.account);
  const found: BilledCharge[] = [];
  for (const { month, source, account, reconciliationId } of closed) {
    if (month < months.from) continue;
    const sums = new Map<string, { cause: Cause; model: string | null; amount: bigint }>();
    const rows = await query.select().from(variances).where(
      eq(variances.reconciliationId, reconciliationId!),
    ).orderBy(variances.nth);
    for (const { cause, dimensions: { model = null }, amountNanoUsd } of rows) {
      if (OF_LINES.has(cause)) continue;
      const sum = sums.get(`${cause} ${model}`) ?? { cause, model, amount: 0n };
      sums.set(`${cause} ${model}`, { ...sum, amount: sum.amount + amountNanoUsd });
    }
    const startsAt = timeOfMonth(month);
    const of = { source, account, month, startsAt, endsAt: startInUtc("month", startsAt, 1), sku: null };
    for (const { cause, model, amount } of sums.values()) {
      // A discount is no part of the list price.
      const listNanoUsd = cause === "discount" ? 0n : null;
      found.push({ ...of, category: "adjustment", model, cause, amountNanoUsd: amount, listNanoUsd });
    }
  }
  for (let month = months.from; month <= months.to && closed.length > 0; month = nextOf(month)) {
    const { source, account, model, amountNanoUsd } = billLines;
    const late = await query.select({
      ...{ source, account, model },
      startsAt: min(billLines.startsAt),
      endsAt: max(billLines.endsAt),
      sum: sql<bigint | string>`sum(${amountNanoUsd})`,
    }).from(billLines).where(and(
      eq(billLines.category, "usage"),
      lt(billLines.startsAt, timeOfMonth(month)),
      inArray(source, closed.map((one) => one.source)),
      countedIn({ from: month, to: month }),
    )).groupBy(source, account, model).orderBy(source, account, model);
    for (const { startsAt, endsAt, sum, ...of } of late) {
      const line = { ...of, month, startsAt: startsAt!, endsAt: endsAt!, amountNanoUsd: BigInt(String(sum)) };
      found.push({ ...line, category: "adjustment", sku: null, listNanoUsd: null, cause: "correction" });
    }
  }
  return found.filter(({ amountNanoUsd }) => amountNanoUsd !== 0n);
}

const nextOf = (month: string): string => toIso(startInUtc("month", timeOfMonth(month), 1)).slice(0, 7);

/** Returns the time of a month, `YYYY-MM`. */
const timeOfMonth = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** Returns the rows of lines that are billed from one time to before another. */
export async function billRows(
  query: Query,
  { from, to }: { from: number; to: number },
): Promise<Record<string, ExportCell>[]> {
  const monthOf = (at: number) => toIso(at).slice(0, 7);
  const months = { from: monthOf(from), to: monthOf(Math.max(from, to - 1)) };
  const lines = [
    ...await readSharedLines(query, months) as BilledCharge[],
    ...await readDifferences(query, months),
  ];
  return lines.filter(({ month, startsAt }) => {
    const at = Math.max(startsAt, timeOfMonth(month));
    return at >= from && at < to;
  }).map(toBillRow);
}

function toBillRow(line: BilledCharge): Record<string, ExportCell> {
  const { source, account, category, month, startsAt, endsAt, sku, model, cause } = line;
  const charge = CATEGORIES[category];
  const seller = sellerOf(source);
  const nano = line.amountNanoUsd!;
  const listed = line.listNanoUsd ?? nano;
  const [amount, list] = [nano, listed].map((one) => toDecimalText(one, 9)) as [string, string];
  // A price is never negative: what a reversal takes back has a negative quantity.
  const [price, listPrice] = [nano, listed].map((one) => toDecimalText(nano < 0n ? -one : one, 9));
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
    ChargeDescription: [source, cause ?? category, sku, model].filter(Boolean).join(" "),
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
      ContractedUnitPrice: price!,
      ListUnitPrice: listPrice!,
      PricingCategory: "Standard",
      PricingQuantity: nano < 0n ? "-1.0" : "1.0",
      PricingUnit: "Units",
      SkuId: skuId,
      SkuMeter: category === "fee" ? "Fee" : "Purchase",
      SkuPriceId: `${skuId}/${price}`,
    }),
    x_Cause: cause ?? null,
    x_RoundingUsd: "0.0",
  };
}
