import { type Cause, CAUSES, type MatchLevel } from "../../contract/bills/causes.ts";
import type {
  Reconciliation,
  ReconciliationDetail,
  ReconciliationVariance,
} from "../../contract/bills/reconciliations.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { parseTotalUsd, toUsd } from "../../kernel/money.ts";
import { type SqlValue, type Store, toObjects } from "../../store/mod.ts";
import { type PeriodKey, readPeriod } from "../periods/periods.ts";
import { MICRO } from "./exact.ts";
import type { Totals } from "./summarize.ts";

type Reads = { store: Pick<Store, "read">; clock: { now(): number } };

/** The most variances that are shown with a comparison. */
const SHOWN_VARIANCES = 500;

/** A comparison as it is stored. */
interface Row {
  reconciliationId: string;
  inputHash: string;
  billNanoUsd: bigint;
  ledgerNanoUsd: bigint;
  unexplainedNanoUsd: bigint;
  limitNanoUsd: bigint;
  /** The last entry of the ledger, and the lines, that it has compared. */
  ledgerPosition: bigint;
  linesState: string | undefined;
  /** The day from which the provider's bill no longer changes. */
  finalOn: string;
}

const COLUMNS =
  `reconciliation_id, source, account, month, mapping, input_hash, bill_nano_usd, ledger_nano_usd,
  unexplained_nano_usd, limit_nano_usd, totals, created_at,
  (SELECT count(*) FROM bill_corrections c WHERE c.reconciliation_id = reconciliations.reconciliation_id) AS proposed,
  (SELECT count(*) FROM bill_corrections c WHERE c.reconciliation_id = reconciliations.reconciliation_id AND entry_id IS NOT NULL) AS applied,
  (SELECT count(*) FROM bill_corrections c WHERE c.reconciliation_id = reconciliations.reconciliation_id AND undo_id IS NOT NULL) AS undone`;

/** Reads the latest comparison of a month. */
export async function readLatest(
  store: Pick<Store, "read">,
  { source, account = "", month }: PeriodKey,
): Promise<Row | undefined> {
  const [row] = toObjects(
    await store.read({
      sql:
        `SELECT reconciliation_id, input_hash, ledger_position, bill_nano_usd, ledger_nano_usd, unexplained_nano_usd, limit_nano_usd, totals
FROM reconciliations WHERE source = ? AND account = ? AND month = ? ORDER BY created_at DESC, reconciliation_id DESC LIMIT 1`,
      args: [source, account, month],
    }),
  );
  const nano = (column: string) => BigInt(row![column] as bigint);
  if (!row) return undefined;
  const { finalOn, linesState }: Totals = JSON.parse(row.totals as string);
  return {
    reconciliationId: row.reconciliation_id as string,
    inputHash: row.input_hash as string,
    billNanoUsd: nano("bill_nano_usd"),
    ledgerNanoUsd: nano("ledger_nano_usd"),
    unexplainedNanoUsd: nano("unexplained_nano_usd"),
    limitNanoUsd: nano("limit_nano_usd"),
    ledgerPosition: nano("ledger_position"),
    linesState,
    finalOn,
  };
}

/** Lists comparisons, newest first. */
export async function listReconciliations(
  ctx: Reads,
  { source, month, after, limit }: {
    source?: string | undefined;
    month?: string | undefined;
    after?: readonly [at: number, id: string] | undefined;
    limit: number;
  },
): Promise<Reconciliation[]> {
  const given: (readonly [sql: string, args: readonly SqlValue[]])[] = [
    ...source === undefined ? [] : [["source = ?", [source]] as const],
    ...month === undefined ? [] : [["month = ?", [month]] as const],
    ...after === undefined ? [] : [["(created_at, reconciliation_id) < (?, ?)", after] as const],
  ];
  const where = given.length === 0 ? "true" : given.map(([sql]) => sql).join(" AND ");
  const rows = toObjects(
    await ctx.store.read({
      sql:
        `SELECT ${COLUMNS} FROM reconciliations WHERE ${where} ORDER BY created_at DESC, reconciliation_id DESC LIMIT ?`,
      args: [...given.flatMap(([, args]) => args), limit],
    }),
  );
  return await Promise.all(rows.map((row) => toWire(ctx, row)));
}

/**
 * Returns a comparison with its largest variances.
 *
 * @throws {PurserError} `not_found`
 */
export async function getReconciliation(ctx: Reads, reconciliationId: string): Promise<ReconciliationDetail> {
  const [row] = toObjects(
    await ctx.store.read({
      sql: `SELECT ${COLUMNS} FROM reconciliations WHERE reconciliation_id = ?`,
      args: [reconciliationId],
    }),
  );
  if (!row) throw new PurserError("not_found", `Cannot find reconciliation ${reconciliationId}`);
  const variances = await listVariances(ctx, reconciliationId, { limit: SHOWN_VARIANCES });
  return { ...await toWire(ctx, row), variances: variances.map(({ variance }) => variance) };
}

/** Lists the variances of a comparison, the largest first, each with its number. */
export async function listVariances(
  ctx: Reads,
  reconciliationId: string,
  { cause, after = -1, limit }: { cause?: Cause | undefined; after?: number | undefined; limit: number },
): Promise<{ nth: number; variance: ReconciliationVariance }[]> {
  const rows = toObjects(
    await ctx.store.read({
      sql:
        `SELECT v.*, r.source, r.account FROM reconciliation_variances v JOIN reconciliations r ON r.reconciliation_id = v.reconciliation_id
WHERE v.reconciliation_id = ?1 AND v.nth > ?2 AND (CAST(?3 AS TEXT) IS NULL OR v.cause = ?3) ORDER BY v.nth LIMIT ?4`,
      args: [reconciliationId, after, cause ?? null, limit],
    }),
  );
  return rows.map((row) => ({ nth: Number(row.nth), variance: toVariance(row) }));
}

function toVariance(row: Record<string, SqlValue>): ReconciliationVariance {
  const dimensions = JSON.parse(row.dimensions as string);
  const [from, to] = [toIso(Number(row.from_at)), toIso(Number(row.to_at))];
  const text = (name: string): string | null => dimensions[name] ?? null;
  const query = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
  const lines = {
    source: row.source as string,
    from,
    to,
    ...row.account !== "" && { account: row.account as string },
  };
  const calls = {
    group_by: "session",
    from,
    to,
    ...dimensions.model !== undefined && { model: dimensions.model as string },
  };
  return {
    cause: row.cause as Cause,
    from,
    to,
    model: text("model"),
    credential: text("credential"),
    project: text("project"),
    service_tier: text("serviceTier"),
    region: text("region"),
    speed: text("speed"),
    context: text("context"),
    part: row.part === "" ? null : row.part as string,
    level: row.level as MatchLevel,
    quantity: toText(BigInt(row.quantity as string)),
    amount_usd: toUsd(BigInt(row.amount_nano_usd as bigint)),
    cells: Number(row.cells),
    evidence: row.evidence as string,
    lines: `/bills/lines?${query(lines)}`,
    calls: `/costs?${query(calls)}`,
  };
}

/** Formats a quantity in millionths. */
function toText(micro: bigint): string {
  const size = micro < 0n ? -micro : micro;
  const rest = (size % MICRO).toString().padStart(6, "0").replace(/0+$/, "");
  return `${micro < 0n ? "-" : ""}${size / MICRO}${rest && `.${rest}`}`;
}

async function toWire(ctx: Reads, row: Record<string, SqlValue>): Promise<Reconciliation> {
  const totals: Totals = JSON.parse(row.totals as string);
  const key = {
    source: row.source as string,
    account: row.account as string || undefined,
    month: row.month as string,
  };
  const period = await readPeriod(ctx.store, key);
  const usd = (text: string) => toUsd(parseTotalUsd(text));
  const nano = (column: string) => BigInt(row[column] as bigint);
  const [bill, ledger, unexplained] = [
    nano("bill_nano_usd"),
    nano("ledger_nano_usd"),
    nano("unexplained_nano_usd"),
  ];
  const matched = Object.values(totals.matched).reduce((sum, amount) => sum + parseTotalUsd(amount), 0n);
  return {
    reconciliation_id: row.reconciliation_id as string,
    source: key.source,
    account: key.account ?? null,
    month: key.month,
    state: period?.state ?? "open",
    final_on: totals.finalOn,
    is_final: Date.parse(totals.finalOn) <= ctx.clock.now(),
    mapping: Number(row.mapping),
    lines: totals.lines,
    calls: totals.calls,
    bill_usd: toUsd(bill),
    ledger_usd: toUsd(ledger),
    difference_usd: toUsd(bill - ledger),
    unexplained_usd: toUsd(unexplained),
    limit_usd: toUsd(nano("limit_nano_usd")),
    is_within_limit: unexplained <= nano("limit_nano_usd"),
    split: {
      volume_usd: usd(totals.split.volume),
      price_usd: usd(totals.split.price),
      other_usd: usd(totals.split.other),
      rounding_usd: usd(totals.split.rounding),
    },
    causes: totals.causes.map(({ cause, amount, variances }) => ({
      cause,
      amount_usd: usd(amount),
      variances,
      remedy: CAUSES[cause].remedy,
      advice: CAUSES[cause].advice,
    })),
    coverage: {
      in_scope_usd: usd(totals.inScope),
      matched_usd: toUsd(matched),
      of_scope: shareOf(matched, parseTotalUsd(totals.inScope)),
      of_account: shareOf(matched, bill),
      levels: Object.fromEntries(
        Object.entries(totals.matched).map(([level, amount]) => [level, usd(amount)]),
      ) as Reconciliation["coverage"]["levels"],
      confirmed_usd: usd(totals.confirmed),
      of_ledger: shareOf(parseTotalUsd(totals.confirmed), ledger),
    },
    bypass: totals.bypass.map(({ credential, amount, cells }) => ({
      credential,
      amount_usd: usd(amount),
      cells,
    })),
    unnamed_keys: totals.unnamedKeys,
    corrections: { proposed: Number(row.proposed), applied: Number(row.applied), undone: Number(row.undone) },
    others: totals.others,
    rounding_bound_usd: usd(totals.roundingBound),
    created_at: toIso(Number(row.created_at)),
  };
}

/** Returns a share with six decimals, rounded down: less than all is never shown as all. */
function shareOf(part: bigint, whole: bigint): number | null {
  if (whole <= 0n) return null;
  return part <= 0n ? 0 : Number(part * 1_000_000n / whole) / 1_000_000;
}
