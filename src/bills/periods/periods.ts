import type { PeriodState } from "../../contract/bills/causes.ts";
import type { BillPeriod } from "../../contract/bills/reconciliations.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { parseTotalUsd, toUsd } from "../../kernel/money.ts";
import { NOT_INDEXED, type Store, toObjects } from "../../store/mod.ts";
import { COUNTED } from "../lines/line_rows.ts";
import { amongProviders, CURRENT_LINES, spanOfMonth } from "../reconcile/open_month.ts";
import { readLatest, type Reads } from "../reconcile/stored_reconciliations.ts";
import type { BillTerms } from "../sources/bill_terms.ts";

/** A month of a source. */
export interface PeriodKey {
  source: string;
  /** Undefined for all accounts. */
  account: string | undefined;
  month: string;
}

/** A month that was closed once. */
export interface Period {
  month: string;
  state: Exclude<PeriodState, "open">;
  reconciliationId: string | null;
  /** The totals when it was closed. */
  billNanoUsd: bigint;
  ledgerNanoUsd: bigint;
  /** Those whose calls it was compared with; null for all. */
  providers: readonly string[] | null;
  /** The changes of earlier months that it has taken. */
  corrections: Correction[];
  changedAt: number;
  changedBy: string | null;
  reason: string | null;
}

/** The change of a closed month since it was closed. */
export interface Correction {
  month: string;
  billNanoUsd: bigint;
  ledgerNanoUsd: bigint;
}

/** Returns whether a month never changes. */
export const isFixed = ({ state }: Pick<Period, "state">) => state === "closed";

/** Reads the months of a source that were closed once, the first one first. */
async function readPeriods(
  store: Pick<Store, "read">,
  { source, account = "" }: Pick<PeriodKey, "source" | "account">,
): Promise<Period[]> {
  const rows = toObjects(
    await store.read({
      sql: "SELECT * FROM bill_periods WHERE source = ? AND account = ? ORDER BY month",
      args: [source, account],
    }),
  );
  return rows.map((row) => ({
    month: row.month as string,
    state: row.state as Period["state"],
    reconciliationId: row.reconciliation_id as string | null,
    billNanoUsd: BigInt(row.bill_nano_usd as bigint),
    ledgerNanoUsd: BigInt(row.ledger_nano_usd as bigint),
    providers: row.providers === null ? null : JSON.parse(row.providers as string),
    corrections: (JSON.parse(row.corrections as string) as [string, string, string][]).map((
      [month, bill, ledger],
    ) => ({
      month,
      billNanoUsd: parseTotalUsd(bill),
      ledgerNanoUsd: parseTotalUsd(ledger),
    })),
    changedAt: Number(row.changed_at),
    changedBy: row.changed_by as string | null,
    reason: row.reason as string | null,
  }));
}

/** Reads a month that was closed once. */
export async function readPeriod(store: Pick<Store, "read">, key: PeriodKey): Promise<Period | undefined> {
  return (await readPeriods(store, key)).find(({ month }) => month === key.month);
}

/** Throws `conflict` for a month that is closed: it is not compared again. */
export async function checkOpen(store: Pick<Store, "read">, key: PeriodKey): Promise<void> {
  // A month that is closed for all accounts is closed for each of them.
  const periods = await readOwnAndCommon(store, key);
  const period = periods.find((one) => one.month === key.month && isFixed(one));
  if (!period) return;
  throw new PurserError(
    "conflict",
    `Cannot reconcile ${key.month} of ${key.source}: it is closed; what has changed since counts in the next open month, or reopen it: purser reconcile reopen`,
    { details: { reconciliation_id: period.reconciliationId } },
  );
}

/** The calls of a bill. */
interface BilledCalls extends PeriodKey {
  providers: readonly string[] | undefined;
}

/** Adds up a month as it is now: its lines and its calls, each in its own month. */
export async function readTotals(
  store: Pick<Store, "readLong">,
  { source, account, month, providers }: BilledCalls,
) {
  const { from, to } = spanOfMonth(month);
  const bill = await store.readLong({
    sql: `SELECT coalesce(sum(amount_nano_usd), 0) FROM bill_lines WHERE ${CURRENT_LINES}
  AND series = 'cost' AND is_equivalent = 0`,
    args: [source, from, to, account ?? ""],
  });
  const ledger = await store.readLong({
    sql: `SELECT coalesce(sum(cost_nano_usd), 0) FROM calls WHERE at >= ? AND at < ? AND ${
      amongProviders(providers)
    }`,
    args: [from, to, ...providers ?? []],
  });
  const nano = (result: typeof bill) => BigInt(String(result.rows[0]![0]));
  return { billNanoUsd: nano(bill), ledgerNanoUsd: nano(ledger) };
}

/** Returns whether the ledger has entries of a month that its comparison hasn't. */
export async function hasNewerCalls(
  store: Pick<Store, "readLong">,
  { ledgerPosition }: { ledgerPosition: bigint },
  { month, providers }: BilledCalls,
): Promise<boolean> {
  const { from, to } = spanOfMonth(month);
  const { rows } = await store.readLong({
    // By position: what came since is less than the month.
    sql: `SELECT 1 FROM calls ${NOT_INDEXED} WHERE position > ? AND at >= ? AND at < ? AND ${
      amongProviders(providers)
    } LIMIT 1`,
    args: [ledgerPosition, from, to, ...providers ?? []],
  });
  return rows.length > 0;
}

/** Returns what has changed of closed months and counts in a month: the first open one after each. */
export async function readCorrections(
  store: Pick<Store, "read" | "readLong">,
  { terms, account, month, providers }: { terms: BillTerms } & Omit<BilledCalls, "source">,
): Promise<Correction[]> {
  const source = terms.name;
  const periods = await readPeriods(store, { source, account });
  const closed = periods.filter(isFixed);
  const corrections: Correction[] = [];
  for (const one of closed) {
    if (one.month >= month || firstOpenAfter(one.month, closed) !== month) continue;
    const now = await readTotals(store, { source, account, month: one.month, providers });
    const taken = closed.flatMap(({ corrections }) => corrections).filter(({ month }) => month === one.month);
    const leftOf = (side: "billNanoUsd" | "ledgerNanoUsd") =>
      taken.reduce((left, change) => left - change[side], now[side] - one[side]);
    const change = {
      month: one.month,
      billNanoUsd: leftOf("billNanoUsd"),
      ledgerNanoUsd: leftOf("ledgerNanoUsd"),
    };
    if (change.billNanoUsd !== 0n || change.ledgerNanoUsd !== 0n) corrections.push(change);
  }
  return corrections;
}

/** Returns the months that are closed for the lines of an account, each with the first open one after it, in which what comes late counts. */
export async function readClosedMonths(
  store: Pick<Store, "read">,
  { source, account }: Pick<PeriodKey, "source" | "account">,
): Promise<{ month: string; next: string }[]> {
  const closed = (await readOwnAndCommon(store, { source, account })).filter(isFixed);
  const months = new Set(closed.map(({ month }) => month));
  return [...months].map((month) => ({ month, next: firstOpenAfter(month, closed) }));
}

/** Reads the months of an account, and those of all accounts. */
async function readOwnAndCommon(
  store: Pick<Store, "read">,
  { source, account }: Pick<PeriodKey, "source" | "account">,
): Promise<Period[]> {
  const accounts = [...new Set([account || undefined, undefined])];
  return (await Promise.all(accounts.map((account) => readPeriods(store, { source, account })))).flat();
}

function firstOpenAfter(month: string, closed: readonly Period[]): string {
  let next = month;
  do next = toIso(spanOfMonth(next).to).slice(0, 7); while (closed.some((one) => one.month === next));
  return next;
}

/** Returns a month with its state. */
export async function getPeriod(ctx: Reads, key: PeriodKey): Promise<BillPeriod> {
  const [period, latest] = await Promise.all([readPeriod(ctx.store, key), readLatest(ctx, key)]);
  const isClosed = period && period.state !== "reopened";
  const shown = latest?.shown;
  return {
    source: key.source,
    account: key.account || null,
    month: key.month,
    state: period?.state ?? "open",
    reconciliation_id: (isClosed ? period.reconciliationId : shown?.reconciliation_id) ?? null,
    bill_usd: shown?.bill_usd ?? null,
    ledger_usd: shown?.ledger_usd ?? null,
    difference_usd: shown?.difference_usd ?? null,
    unexplained_usd: shown?.unexplained_usd ?? null,
    is_within_limit: shown?.is_within_limit ?? null,
    final_on: shown?.final_on ?? null,
    corrections: (period?.corrections ?? []).map(({ month, billNanoUsd, ledgerNanoUsd }) => ({
      month,
      bill_usd: toUsd(billNanoUsd),
      ledger_usd: toUsd(ledgerNanoUsd),
    })),
    changed_at: period ? toIso(period.changedAt) : null,
    changed_by: period?.changedBy ?? null,
    reason: period?.reason ?? null,
  };
}

/** Lists the months that have lines or a state, the latest first. */
export async function listPeriods(
  ctx: Reads,
  { source, limit }: { source?: string | undefined; limit: number },
): Promise<BillPeriod[]> {
  const rows = toObjects(
    await ctx.store.read({
      sql: `SELECT source, account, month FROM reconciliations WHERE CAST(?1 AS TEXT) IS NULL OR source = ?1
UNION SELECT source, account, month FROM bill_periods WHERE CAST(?1 AS TEXT) IS NULL OR source = ?1
UNION SELECT source, '', month FROM bill_lines WHERE state IN (${COUNTED}) AND (CAST(?1 AS TEXT) IS NULL OR source = ?1)
ORDER BY month DESC, source, account LIMIT ?2`,
      args: [source ?? null, limit],
    }),
  );
  return await Promise.all(
    rows.map(({ source, account, month }) =>
      getPeriod(ctx, { source: source as string, account: account as string, month: month as string })
    ),
  );
}
