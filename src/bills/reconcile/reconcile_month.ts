import { createHash } from "node:crypto";
import { type Clock, DAY_MS, toIso } from "../../kernel/clock.ts";
import type { Ids } from "../../kernel/ids.ts";
import { formatUsd } from "../../kernel/money.ts";
import type { Query, Statement, Store } from "../../store/mod.ts";
import { checkOpen, readCorrections } from "../periods/periods.ts";
import type { LedgerCell, NumberedLine } from "./cells.ts";
import { ATTO_PER_NANO, sizeOf, toNano } from "./exact.ts";
import { readLedgerCells, readRateCards } from "./ledger_cells.ts";
import { readDayLines } from "./read_day_lines.ts";
import { type BilledMonth, type OpenMonth, openMonth, spanOfMonth } from "./open_month.ts";
import { type Reconciled, Reconciler } from "./reconciler.ts";
import { summarize } from "./summarize.ts";
import { readLatest } from "./stored_reconciliations.ts";
import { addVariance, type Variance } from "./variance.ts";

export interface ReconcileContext {
  store: Store;
  query: Query;
  clock: Pick<Clock, "now">;
  ids: Ids;
}

/** A comparison to make. */
export interface ReconcileInput extends BilledMonth {
  /** The largest amount that may stay unexplained; undefined for the bound of rounding. */
  limitNanoUsd: bigint | undefined;
}

/** A variance as it is stored: rounded to nano-USD, so that all of them still add up to the difference. */
export type StoredVariance = Omit<Variance, "amount"> & { amountNanoUsd: bigint };

/** The most variances that are stored: those after them are added up by cause. */
const MAX_VARIANCES = 20_000;

/**
 * Compares the bill of a month with the ledger, and stores the result; the same lines and calls are compared once. Returns its id.
 *
 * @throws {PurserError} `invalid` for a month in the future; `not_found` without a bill; `conflict` for a closed month
 */
export async function reconcileMonth(
  ctx: ReconcileContext,
  input: ReconcileInput,
  onProgress: (days: number, of: number) => void = () => {},
): Promise<string> {
  const { terms, account, month, limitNanoUsd } = input;
  const open = await openMonth(ctx, input);
  await checkOpen(ctx.store, { source: terms.name, account, month });
  const corrections = await readCorrections(ctx.store, { terms, account, month, providers: open.providers });
  const { hash, position } = await readInput(ctx.store, input, corrections);
  const latest = await readLatest(ctx, { source: terms.name, account, month });
  if (latest?.inputHash === hash) return latest.shown.reconciliation_id;
  const result = await compareDays(ctx, input, open, onProgress);
  for (const { month, billNanoUsd, ledgerNanoUsd } of corrections) {
    result.billed += billNanoUsd * ATTO_PER_NANO;
    result.bookedNanoUsd += ledgerNanoUsd;
    result.variances.push({
      cause: "correction",
      ...spanOfMonth(month),
      dimensions: {},
      part: "",
      level: "total",
      quantity: 0n,
      amount: (billNanoUsd - ledgerNanoUsd) * ATTO_PER_NANO,
      cells: 1,
      evidence: `since ${month} was closed, its bill has changed by ${
        formatUsd(billNanoUsd)
      } USD and its calls by ${formatUsd(ledgerNanoUsd)} USD`,
    });
  }
  const variances = roundVariances(result);
  const unexplained = variances.filter(({ cause }) => cause === "unexplained")
    .reduce((sum, { amountNanoUsd }) => sum + sizeOf(amountNanoUsd), 0n);
  const finalOn = toIso(open.setup.to + terms.finalAfterDays * DAY_MS).slice(0, 10);
  const reconciliationId = ctx.ids.next("rec");
  await ctx.store.write([
    ...insert("reconciliations", [{
      reconciliation_id: reconciliationId,
      source: terms.name,
      account: account ?? "",
      month,
      mapping: terms.mapping,
      input_hash: hash,
      ledger_position: position,
      lines_state: open.linesState,
      bill_nano_usd: toNano(result.billed),
      ledger_nano_usd: result.bookedNanoUsd,
      unexplained_nano_usd: unexplained,
      limit_nano_usd: limitNanoUsd ?? toNano(result.roundingBound),
      totals: JSON.stringify(summarize(result, variances, open, finalOn)),
      created_at: ctx.clock.now(),
    }]),
    ...insert(
      "reconciliation_variances",
      variances.map((one, nth) => ({
        reconciliation_id: reconciliationId,
        nth,
        cause: one.cause,
        from_at: one.from,
        to_at: one.to,
        dimensions: JSON.stringify(one.dimensions),
        part: one.part,
        level: one.level,
        quantity: String(one.quantity),
        amount_nano_usd: one.amountNanoUsd,
        cells: one.cells,
        evidence: one.evidence.slice(0, 500),
      })),
    ),
    ...insert(
      "bill_corrections",
      result.proposals.map(({ callId, counts }) => ({
        reconciliation_id: reconciliationId,
        call_id: callId,
        counts: JSON.stringify(counts),
      })),
    ),
  ]);
  return reconciliationId;
}

async function compareDays(
  ctx: ReconcileContext,
  { terms, account }: ReconcileInput,
  { setup, providers, upstreams, isWhole, hasCalls }: OpenMonth,
  onProgress: (days: number, of: number) => void,
): Promise<Reconciled> {
  const reconciler = new Reconciler(setup);
  const rates = await readRateCards(ctx);
  const callsOf = hasCalls ? terms.name : undefined;
  const span = { providers, upstreams, account, rates, callsOf, isByCall: setup.isByCall };
  const days = (setup.to - setup.from) / DAY_MS;
  const whole = { lines: [] as NumberedLine[], calls: [] as LedgerCell[] };
  for (let from = setup.from; from < setup.to; from += DAY_MS) {
    const to = from + DAY_MS;
    const lines = await readDayLines(ctx.store, { source: terms.name, account, from, to });
    const widthMs = isWhole ? DAY_MS : narrowest(lines);
    const calls = await readLedgerCells(ctx, { ...span, from, to, widthMs });
    if (isWhole) {
      whole.lines.push(...lines);
      // Those that began on the day before came with it.
      whole.calls.push(...calls.filter(({ startsAt }) => startsAt >= from || from === setup.from));
    } else reconciler.addDay({ startsAt: from, endsAt: to, lines, calls });
    onProgress((to - setup.from) / DAY_MS, days);
  }
  if (isWhole) reconciler.addDay({ startsAt: setup.from, endsAt: setup.to, ...whole });
  return reconciler.finish();
}

/** Returns the width of the narrowest buckets of the lines of a day. */
function narrowest(lines: readonly NumberedLine[]): number {
  let width = DAY_MS;
  for (const { category, startsAt, endsAt } of lines) {
    if (category === "usage" && endsAt > startsAt) width = Math.min(width, endsAt - startsAt);
  }
  return width;
}

/** Returns a hash of all that a comparison depends on, and the last entry of the ledger. */
async function readInput(store: Pick<Store, "readAll">, input: ReconcileInput, corrections: object) {
  const [lines, entries, upstreams] = await store.readAll([
    {
      sql:
        "SELECT coalesce(max(position), 0), (SELECT max(ended_at) FROM bill_imports WHERE source = ?1 AND status = 'done') FROM bill_lines",
      args: [input.terms.name],
    },
    { sql: "SELECT coalesce(max(position), 0) FROM calls" },
    { sql: "SELECT upstream_id, key_id FROM upstreams WHERE key_id IS NOT NULL ORDER BY upstream_id" },
  ]);
  const position = Number(entries!.rows[0]![0]);
  const { terms, account, month, limitNanoUsd } = input;
  const whole = [terms, account, month, limitNanoUsd, lines!.rows, position, upstreams!.rows, corrections];
  const text = JSON.stringify(whole, (_, value) => typeof value === "bigint" ? String(value) : value);
  return { hash: createHash("sha256").update(text).digest("hex").slice(0, 32), position };
}

/** Rounds the amounts to nano-USD, the largest first; what that leaves is rounding too. */
function roundVariances({ variances, billed, bookedNanoUsd }: Reconciled): StoredVariance[] {
  const sorted = variances.filter(({ cause }) => cause !== "rounding")
    .sort((one, other) => Number(sizeOf(other.amount) - sizeOf(one.amount)));
  const rest = new Map<string, Variance>();
  for (const one of sorted.splice(MAX_VARIANCES)) {
    const known = rest.get(one.cause);
    if (known) addVariance(known, { ...one, quantity: 0n });
    else {
      const evidence = "the smaller ones together";
      rest.set(one.cause, { ...one, dimensions: {}, part: "", quantity: 0n, evidence });
    }
  }
  const all = [...sorted, ...rest.values()].map(({ amount, ...one }): StoredVariance => ({
    ...one,
    amountNanoUsd: toNano(amount),
  }));
  const explained = all.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  const amountNanoUsd = toNano(billed) - bookedNanoUsd - explained;
  const { amount: _, ...rounding } = variances.find(({ cause }) => cause === "rounding")!;
  return amountNanoUsd === 0n ? all : [...all, { ...rounding, amountNanoUsd }];
}

/** Returns the statement that inserts rows, whose fields are the columns. */
function insert(table: string, rows: readonly Record<string, string | number | bigint>[]): Statement[] {
  const [first] = rows;
  if (!first) return [];
  const columns = Object.keys(first);
  const values = columns.map((column) => `v.${column}`).join(", ");
  const sql = `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values} FROM each_row v WHERE true
ON CONFLICT DO NOTHING`;
  const integers = columns.filter((column) => typeof first[column] !== "string");
  return [{ sql, each: { columns, integers, rows: rows.map(Object.values) } }];
}
