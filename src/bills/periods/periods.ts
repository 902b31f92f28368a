import type { PeriodState } from "../../contract/bills/causes.ts";
import type { BillPeriod } from "../../contract/bills/reconciliations.ts";
import { type Clock, toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { formatUsd, parseTotalUsd, toUsd } from "../../kernel/money.ts";
import {
  auditEntry,
  type Author,
  ConstraintError,
  NOT_INDEXED,
  type Query,
  requireThat,
  type Statement,
  type Store,
  toObjects,
} from "../../store/mod.ts";
import { COUNTED } from "../lines/line_rows.ts";
import {
  amongProviders,
  CURRENT_LINES,
  LINES_STATE,
  openMonth,
  spanOfMonth,
} from "../reconcile/open_month.ts";
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
interface Period {
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

const isFixed = ({ state }: Pick<Period, "state">) => state === "closed";

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
async function readPeriod(store: Pick<Store, "read">, key: PeriodKey): Promise<Period | undefined> {
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
async function readTotals(
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
async function hasNewerCalls(
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

interface PeriodContext {
  store: Store;
  query: Query;
  clock: Pick<Clock, "now">;
  author: Author;
}

/**
 * Closes a month as its latest comparison has it: for now until the provider's bill is final, and for good from then on.
 *
 * @throws {PurserError} `conflict` for a month that is not over, not compared, closed already, or has more unexplained than its limit
 */
export async function closePeriod(ctx: PeriodContext, terms: BillTerms, key: PeriodKey): Promise<BillPeriod> {
  const refuse = (state: string) =>
    new PurserError("conflict", `Cannot close ${key.month} of ${key.source}: ${state}`);
  const { from, to } = spanOfMonth(key.month);
  if (to > ctx.clock.now()) throw refuse("it is not over");
  const before = await readPeriod(ctx.store, key);
  if (before && isFixed(before)) throw refuse("it is closed; reopen it first: purser reconcile reopen");
  const latest = await readLatest(ctx, key);
  const command = `purser reconcile ${key.source} --month ${key.month}`;
  if (!latest) throw refuse(`it was not compared; ${command}`);
  const { is_within_limit, unexplained_usd, limit_usd } = latest.shown;
  if (!is_within_limit) {
    const [unexplained, limit] = [unexplained_usd, limit_usd].map((usd) => formatUsd(parseTotalUsd(usd)));
    throw refuse(
      `${unexplained} USD are unexplained, more than ${limit}; compare it with a higher --limit to accept that`,
    );
  }
  const { providers, linesState } = await openMonth(ctx, { terms, account: key.account, month: key.month });
  if (latest.linesState !== linesState || await hasNewerCalls(ctx.store, latest, { ...key, providers })) {
    throw refuse(`its bill or its calls have changed since it was compared; ${command}`);
  }
  const state = latest.shown.is_final ? "closed" : "soft_closed";
  const corrections = await readCorrections(ctx.store, { ...key, terms, providers });
  const totals = await readTotals(ctx.store, { ...key, providers });
  await write(
    ctx,
    key,
    before,
    {
      state,
      reconciliationId: latest.shown.reconciliation_id,
      ...totals,
      providers: providers ?? null,
      corrections: state === "closed" ? corrections : [],
      reason: null,
    },
    "closed",
    [requireThat({
      sql: `(SELECT ${LINES_STATE} FROM bill_lines WHERE ${CURRENT_LINES}) = ?5`,
      args: [key.source, from, to, key.account ?? "", linesState],
    })],
  );
  return await getPeriod(ctx, key);
}

// A later month ?1 … that is closed and has taken changes of the month ?3, or of one before it.
const TAKEN = `SELECT p.month FROM bill_periods p WHERE p.source = ?1 AND p.state = 'closed' AND p.month > ?3
  AND (p.corrections LIKE '%"' || ?3 || '"%' OR EXISTS (SELECT 1 FROM bill_lines l WHERE l.source = ?1 AND l.month = p.month
    AND l.starts_at < ?4 AND l.state IN (${COUNTED}) AND (?2 = '' OR l.account = ?2) AND p.account IN ('', l.account)))`;
// The lines whose month ?3 is open now.
const OF_MONTH = `source = ?1 AND (?2 = '' OR account = ?2) AND NOT EXISTS (SELECT 1 FROM bill_periods p
  WHERE p.source = ?1 AND p.month = ?3 AND p.state = 'closed' AND p.account IN ('', bill_lines.account))`;
const BRING_BACK =
  `UPDATE bill_lines SET month = ?3 WHERE ${OF_MONTH} AND month = ?5 AND starts_at < ?4 AND state IN ('current', 'reversal')`;
const FORGET_REVERSALS =
  `DELETE FROM bill_lines WHERE ${OF_MONTH} AND month = ?3 AND state = 'reversal' AND EXISTS (SELECT 1 FROM bill_lines c
  WHERE c.source = ?1 AND c.account = bill_lines.account AND c.natural_key = bill_lines.natural_key AND c.revision = bill_lines.revision
  AND c.month = ?3 AND c.state = 'closed')`;
const REPLACE_CLOSED =
  `UPDATE bill_lines SET state = 'replaced' WHERE ${OF_MONTH} AND month = ?3 AND state = 'closed'`;

/**
 * Reopens a closed month: what has changed of it since counts in it again, and it is compared and closed anew.
 *
 * @throws {PurserError} `conflict` for a month that isn't closed, or whose changes a later closed month has
 */
export async function reopenPeriod(ctx: PeriodContext, key: PeriodKey, reason: string): Promise<BillPeriod> {
  const before = await readPeriod(ctx.store, key);
  if (!before || before.state === "reopened") {
    throw new PurserError("conflict", `Cannot reopen ${key.month} of ${key.source}: it is open`);
  }
  const args = [key.source, key.account ?? "", key.month, spanOfMonth(key.month).to];
  const { rows: [taken] } = await ctx.store.read({ sql: `${TAKEN} ORDER BY p.month DESC LIMIT 1`, args });
  if (taken) {
    throw new PurserError(
      "conflict",
      `Cannot reopen ${key.month} of ${key.source}: ${
        taken[0]
      }, which is closed, has its corrections; reopen ${taken[0]} first`,
    );
  }
  const next = firstOpenAfter(key.month, (await readOwnAndCommon(ctx.store, key)).filter(isFixed));
  await write(ctx, key, before, { ...before, state: "reopened", reason }, "reopened", [
    requireThat({ sql: `NOT EXISTS (${TAKEN})`, args }),
    { sql: BRING_BACK, args: [...args, next] },
    { sql: FORGET_REVERSALS, args: args.slice(0, 3) },
    { sql: REPLACE_CLOSED, args: args.slice(0, 3) },
  ]);
  return await getPeriod(ctx, key);
}

type Change = Omit<Period, "month" | "changedAt" | "changedBy">;

async function write(
  { store, clock, author }: PeriodContext,
  { source, account = "", month }: PeriodKey,
  before: Period | undefined,
  after: Change,
  action: "closed" | "reopened",
  more: readonly Statement[] = [],
): Promise<void> {
  const now = clock.now();
  const id = [source, account, month].filter(Boolean).join(" ");
  const audited = ({ state, reconciliationId: reconciliation_id, reason }: Change) => ({
    state,
    reconciliation_id,
    reason,
  });
  const corrections = after.corrections.map(({ month, billNanoUsd, ledgerNanoUsd }) => [
    month,
    formatUsd(billNanoUsd),
    formatUsd(ledgerNanoUsd),
  ]);
  const statements = [
    requireThat({
      sql: before
        ? "EXISTS (SELECT 1 FROM bill_periods WHERE source = ?1 AND account = ?2 AND month = ?3 AND changed_at = ?4 AND state = ?5)"
        : "NOT EXISTS (SELECT 1 FROM bill_periods WHERE source = ?1 AND account = ?2 AND month = ?3)",
      args: [source, account, month, ...before ? [before.changedAt, before.state] : []],
    }),
    auditEntry({ author, now }, {
      action,
      kind: "period",
      id,
      name: null,
      before: before ? audited(before) : null,
      after: audited(after),
    }),
    {
      sql:
        `INSERT INTO bill_periods (source, account, month, state, reconciliation_id, bill_nano_usd, ledger_nano_usd, providers, corrections,
  changed_at, changed_by, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, account, month) DO UPDATE SET state = excluded.state,
  reconciliation_id = excluded.reconciliation_id, bill_nano_usd = excluded.bill_nano_usd, ledger_nano_usd = excluded.ledger_nano_usd,
  providers = excluded.providers, corrections = excluded.corrections, changed_at = excluded.changed_at, changed_by = excluded.changed_by, reason = excluded.reason`,
      args: [
        source,
        account,
        month,
        after.state,
        after.reconciliationId,
        after.billNanoUsd,
        after.ledgerNanoUsd,
        after.providers && JSON.stringify(after.providers),
        JSON.stringify(corrections),
        now,
        author.name ?? author.actor,
        after.reason,
      ],
    },
    ...more,
  ];
  try {
    await store.write(statements);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    const verb = action === "closed" ? "close" : "reopen";
    throw new PurserError(
      "conflict",
      `Cannot ${verb} ${month} of ${source}: another process has just changed it`,
      { cause: error },
    );
  }
}

/** Returns a month with its state. */
async function getPeriod(ctx: Reads, key: PeriodKey): Promise<BillPeriod> {
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
