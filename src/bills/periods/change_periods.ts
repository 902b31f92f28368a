import type { BillPeriod } from "../../contract/bills/reconciliations.ts";
import type { Clock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { formatUsd, parseTotalUsd } from "../../kernel/money.ts";
import {
  auditEntry,
  type Author,
  ConstraintError,
  type Query,
  requireThat,
  type Statement,
  type Store,
} from "../../store/mod.ts";
import { CURRENT_LINES, LINES_STATE, openMonth, spanOfMonth } from "../reconcile/open_month.ts";
import { readLatest } from "../reconcile/stored_reconciliations.ts";
import type { BillTerms } from "../sources/bill_terms.ts";
import {
  getPeriod,
  hasNewerCalls,
  isFixed,
  type Period,
  type PeriodKey,
  readCorrections,
  readPeriod,
  readTotals,
} from "./periods.ts";

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
  const after = {
    state,
    reconciliationId: latest.shown.reconciliation_id,
    ...totals,
    providers: providers ?? null,
    corrections: state === "closed" ? corrections : [],
    reason: null,
  } as const;
  const args = [key.source, from, to, key.account ?? "", linesState];
  const isUnchanged = `(SELECT ${LINES_STATE} FROM bill_lines WHERE ${CURRENT_LINES}) = ?5`;
  await write(ctx, key, before, after, "closed", [requireThat({ sql: isUnchanged, args })]);
  return await getPeriod(ctx, key);
}

// The last month after ?3 that is closed.
const LATER =
  "SELECT max(month) FROM bill_periods WHERE source = ?1 AND state = 'closed' AND month > ?3 AND (?2 = '' OR account IN ('', ?2))";
// The lines whose month ?3 is open now.
const OF_MONTH = `source = ?1 AND (?2 = '' OR account = ?2) AND NOT EXISTS (SELECT 1 FROM bill_periods p
  WHERE p.source = ?1 AND p.month = ?3 AND p.state = 'closed' AND p.account IN ('', bill_lines.account))`;
const BRING_BACK =
  `UPDATE bill_lines SET month = ?3 WHERE ${OF_MONTH} AND month > ?3 AND starts_at < ?4 AND state IN ('current', 'reversal')`;
const FORGET_REVERSALS =
  `DELETE FROM bill_lines WHERE ${OF_MONTH} AND month = ?3 AND state = 'reversal' AND EXISTS (SELECT 1 FROM bill_lines c
  WHERE c.source = ?1 AND c.account = bill_lines.account AND c.natural_key = bill_lines.natural_key AND c.revision = bill_lines.revision
  AND c.month = ?3 AND c.state = 'closed')`;
const REPLACE_CLOSED =
  `UPDATE bill_lines SET state = 'replaced' WHERE ${OF_MONTH} AND month = ?3 AND state = 'closed'`;

/**
 * Reopens a closed month: what has changed of it since counts in it again, and it is compared and closed anew.
 *
 * @throws {PurserError} `conflict` for a month that isn't closed, or before a later one that is
 */
export async function reopenPeriod(ctx: PeriodContext, key: PeriodKey, reason: string): Promise<BillPeriod> {
  const before = await readPeriod(ctx.store, key);
  if (!before || before.state === "reopened") {
    throw new PurserError("conflict", `Cannot reopen ${key.month} of ${key.source}: it is open`);
  }
  const args = [key.source, key.account ?? "", key.month, spanOfMonth(key.month).to];
  const { rows: [[later] = []] } = await ctx.store.read({ sql: LATER, args: args.slice(0, 3) });
  if (later) {
    const state = `${later} is closed, and may have its corrections; reopen ${later} first`;
    throw new PurserError("conflict", `Cannot reopen ${key.month} of ${key.source}: ${state}`);
  }
  await write(ctx, key, before, { ...before, state: "reopened", reason }, "reopened", [
    requireThat({ sql: `(${LATER}) IS NULL`, args: args.slice(0, 3) }),
    { sql: BRING_BACK, args },
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
