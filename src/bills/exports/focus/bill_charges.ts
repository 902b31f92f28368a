import { and, between, eq, isNotNull, ne, sql } from "drizzle-orm";
import type { Cause } from "../../../contract/bills/causes.ts";
import { toIso } from "../../../kernel/clock.ts";
import { startInUtc } from "../../../contract/windows.ts";
import { type Query, type SqlValue, type Store, tables, toObjects } from "../../../store/mod.ts";
import { COUNTED } from "../../lines/line_rows.ts";
import { toDecimalText } from "../decimal_text.ts";
import type { ExportCell } from "../../../contract/exports.ts";
import { SERVICE, toFocusTime } from "./focus_columns.ts";
import { sellerOf } from "./sellers.ts";

const { billLines } = tables;

type Reads = { query: Query; store: Pick<Store, "read" | "readAll"> };

/** A line of a bill that is not of calls: a fee, a purchase, a tax, a credit or an adjustment. */
export type SharedLine = typeof billLines.$inferSelect;

/** Reads the lines in USD that count in some months and are not of calls, in order. */
export async function readSharedLines(
  { query }: Pick<Reads, "query">,
  { from, to }: Months,
): Promise<SharedLine[]> {
  return await query.select().from(billLines).where(and(
    sql.raw(`state IN (${COUNTED})`), // as the index has it
    eq(billLines.series, "cost"),
    ne(billLines.category, "usage"),
    isNotNull(billLines.amountNanoUsd),
    eq(billLines.isEquivalent, false),
    between(billLines.month, from, to),
  )).orderBy(billLines.month, billLines.source, billLines.startsAt, billLines.position);
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
const OF_LINES = "'fee', 'credit', 'commitment', 'minimum', 'tax', 'fx', 'correction'";

/** Months, `YYYY-MM`, both inclusive. */
type Months = Record<"from" | "to", string>;

const CLOSED = `bill_periods p WHERE p.state = 'closed' AND p.providers IS NOT NULL`;
const DIFFERENCES =
  `SELECT p.source, p.account, p.month, v.cause, v.dimensions ->> 'model' AS model, sum(v.amount_nano_usd) AS nano
FROM reconciliation_variances v, ${CLOSED} AND v.reconciliation_id = p.reconciliation_id
  AND p.month BETWEEN ?1 AND ?2 AND v.cause NOT IN (${OF_LINES})
GROUP BY p.source, p.account, p.month, v.cause, v.dimensions ->> 'model' ORDER BY 1, 2, 3, 4, 5`;
const LATE_USAGE = `SELECT source, account, month, 'correction' AS cause, model, sum(amount_nano_usd) AS nano,
  min(starts_at) AS starts, max(ends_at) AS ends FROM bill_lines
WHERE state IN (${COUNTED}) AND month = ?1 AND starts_at < ?2 AND series = 'cost' AND category = 'usage' AND is_equivalent = 0
  AND source IN (SELECT p.source FROM ${CLOSED} AND p.month < ?1) GROUP BY source, account, month, model ORDER BY 1, 2, 5`;

/**
 * Reads what makes the calls of closed months their bills: the differences of the comparison with which a month was closed, by cause
 * and model, and, in the month in which they count, the changes of the lines of usage since.
 */
async function readDifferences({ store }: Reads, { from, to }: Months): Promise<BilledCharge[]> {
  const { rows: [earliest] } = await store.read({ sql: `SELECT min(p.month) FROM ${CLOSED}` });
  const first = earliest![0] as string | null;
  if (first === null) return [];
  const statements = [{ sql: DIFFERENCES, args: [from, to] as SqlValue[] }];
  for (let month = from > first ? from : first; month <= to; month = nextOf(month)) {
    statements.push({ sql: LATE_USAGE, args: [month, timeOfMonth(month)] });
  }
  const rows = (await store.readAll(statements)).flatMap((result) => toObjects(result));
  return rows.filter(({ nano }) => nano !== null && BigInt(String(nano)) !== 0n).map((row) => {
    const month = row.month as string;
    const startsAt = Number(row.starts ?? timeOfMonth(month));
    return {
      source: row.source as string,
      account: row.account as string,
      category: "adjustment",
      cause: row.cause as Cause,
      month,
      model: row.model as string | null,
      sku: null,
      startsAt,
      endsAt: Number(row.ends ?? startInUtc("month", startsAt, 1)),
      amountNanoUsd: BigInt(String(row.nano)),
      // A discount is no part of the list price.
      listNanoUsd: row.cause === "discount" ? 0n : null,
    };
  });
}

const nextOf = (month: string): string => toIso(startInUtc("month", timeOfMonth(month), 1)).slice(0, 7);

/** Returns the time of a month, `YYYY-MM`. */
const timeOfMonth = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** Returns the rows of lines that are billed from one time to before another. */
export async function billRows(
  ctx: Reads,
  { from, to }: { from: number; to: number },
): Promise<Record<string, ExportCell>[]> {
  const monthOf = (at: number) => toIso(at).slice(0, 7);
  const months = { from: monthOf(from), to: monthOf(Math.max(from, to - 1)) };
  const lines = [
    ...await readSharedLines(ctx, months) as BilledCharge[],
    ...await readDifferences(ctx, months),
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
    // What is bought in advance is used up by the rows of calls.
    EffectiveCost: category === "purchase" ? "0.0" : amount,
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
