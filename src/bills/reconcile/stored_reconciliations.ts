import { type Cause, CAUSES, type MatchLevel, type PeriodState } from "../../contract/bills/causes.ts";
import type {
  Reconciliation,
  ReconciliationDetail,
  ReconciliationVariance,
} from "../../contract/bills/reconciliations.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { toUsd } from "../../kernel/money.ts";
import { type SqlValue, type Store, toObjects } from "../../store/mod.ts";
import type { PeriodKey } from "../periods/periods.ts";
import { MICRO, sizeOf } from "./exact.ts";
import type { Totals } from "./summarize.ts";

/** The database of the comparisons, and the clock that says which of them are final. */
export interface Reads {
  store: Pick<Store, "read">;
  clock: { now(): number };
}

/** The most variances that are shown with a comparison. */
const SHOWN_VARIANCES = 500;

const count = (column: string) =>
  `(SELECT count(${column}) FROM bill_corrections c WHERE c.reconciliation_id = r.reconciliation_id)`;
const SELECT = `SELECT r.*, coalesce(p.state, 'open') AS state, ${count("*")} AS proposed,
  ${count("entry_id")} AS applied, ${count("undo_id")} AS undone
FROM reconciliations r LEFT JOIN bill_periods p ON p.source = r.source AND p.account = r.account AND p.month = r.month`;
const NEWEST_FIRST = "ORDER BY r.created_at DESC, r.reconciliation_id DESC";

/** Reads the latest comparison of a month, with what it has compared. */
export async function readLatest(ctx: Reads, { source, account = "", month }: PeriodKey) {
  const [row] = toObjects(
    await ctx.store.read({
      sql: `${SELECT} WHERE r.source = ? AND r.account = ? AND r.month = ? ${NEWEST_FIRST} LIMIT 1`,
      args: [source, account, month],
    }),
  );
  return row && {
    shown: toWire(ctx, row),
    inputHash: row.input_hash as string,
    linesState: row.lines_state as string,
    /** The last entry of the ledger. */
    ledgerPosition: BigInt(row.ledger_position as bigint),
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
  const rows = toObjects(
    await ctx.store.read({
      sql:
        `${SELECT} WHERE (CAST(?1 AS TEXT) IS NULL OR r.source = ?1) AND (CAST(?2 AS TEXT) IS NULL OR r.month = ?2)
  AND (r.created_at, r.reconciliation_id) < (?3, ?4) ${NEWEST_FIRST} LIMIT ?5`,
      args: [source ?? null, month ?? null, ...after ?? [Number.MAX_SAFE_INTEGER, ""], limit],
    }),
  );
  return rows.map((row) => toWire(ctx, row));
}

/**
 * Returns a comparison with its largest variances.
 *
 * @throws {PurserError} `not_found`
 */
export async function getReconciliation(ctx: Reads, reconciliationId: string): Promise<ReconciliationDetail> {
  const found = await readReconciliation(ctx, reconciliationId);
  const variances = await readVariances(ctx, found, { limit: SHOWN_VARIANCES });
  return { ...found, variances: variances.map(({ variance }) => variance) };
}

/** The variances to read: those after a number. */
interface VarianceQuery {
  cause?: Cause | undefined;
  after?: number | undefined;
  limit: number;
}

/**
 * Lists the variances of a comparison, the largest first, each with its number.
 *
 * @throws {PurserError} `not_found`
 */
export async function listVariances(ctx: Reads, reconciliationId: string, query: VarianceQuery) {
  return await readVariances(ctx, await readReconciliation(ctx, reconciliationId), query);
}

/**
 * Reads a comparison without its variances.
 *
 * @throws {PurserError} `not_found`
 */
export async function readReconciliation(ctx: Reads, reconciliationId: string): Promise<Reconciliation> {
  const [row] = toObjects(
    await ctx.store.read({ sql: `${SELECT} WHERE r.reconciliation_id = ?`, args: [reconciliationId] }),
  );
  if (!row) throw new PurserError("not_found", `Cannot find reconciliation ${reconciliationId}`);
  return toWire(ctx, row);
}

async function readVariances(
  { store }: Reads,
  of: Reconciliation,
  { cause, after = -1, limit }: VarianceQuery,
): Promise<{ nth: number; variance: ReconciliationVariance }[]> {
  const rows = toObjects(
    await store.read({
      sql:
        `SELECT * FROM reconciliation_variances WHERE reconciliation_id = ?1 AND nth > ?2 AND (CAST(?3 AS TEXT) IS NULL OR cause = ?3)
ORDER BY nth LIMIT ?4`,
      args: [of.reconciliation_id, after, cause ?? null, limit],
    }),
  );
  return rows.map((row) => ({ nth: Number(row.nth), variance: toVariance(row, of) }));
}

function toVariance(
  row: Record<string, SqlValue>,
  { source, account }: Pick<Reconciliation, "source" | "account">,
): ReconciliationVariance {
  const dimensions = JSON.parse(row.dimensions as string);
  const [from, to] = [toIso(Number(row.from_at)), toIso(Number(row.to_at))];
  const text = (name: string): string | null => dimensions[name] ?? null;
  const model = text("model");
  const lines = new URLSearchParams({ source, from, to, ...account !== null && { account } });
  const calls = new URLSearchParams({ group_by: "session", from, to, ...model !== null && { model } });
  return {
    cause: row.cause as Cause,
    from,
    to,
    model,
    credential: text("credential"),
    project: text("project"),
    service_tier: text("serviceTier"),
    region: text("region"),
    speed: text("speed"),
    context: text("context"),
    part: row.part as string || null,
    level: row.level as MatchLevel,
    quantity: toText(BigInt(row.quantity as string)),
    amount_usd: toUsd(BigInt(row.amount_nano_usd as bigint)),
    cells: Number(row.cells),
    evidence: row.evidence as string,
    lines: `/bills/lines?${lines}`,
    calls: `/costs?${calls}`,
  };
}

/** Formats a quantity in millionths. */
function toText(micro: bigint): string {
  const rest = (sizeOf(micro) % MICRO).toString().padStart(6, "0").replace(/0+$/, "");
  return `${micro < 0n ? "-" : ""}${sizeOf(micro) / MICRO}${rest && `.${rest}`}`;
}

function toWire({ clock }: Reads, row: Record<string, SqlValue>): Reconciliation {
  const { causes, ...totals }: Totals = JSON.parse(row.totals as string);
  const nano = (column: string) => BigInt(row[column] as bigint);
  const [bill, ledger] = [nano("bill_nano_usd"), nano("ledger_nano_usd")];
  return {
    ...totals,
    reconciliation_id: row.reconciliation_id as string,
    source: row.source as string,
    account: row.account as string || null,
    month: row.month as string,
    state: row.state as PeriodState,
    is_final: Date.parse(totals.final_on) <= clock.now(),
    mapping: Number(row.mapping),
    bill_usd: toUsd(bill),
    ledger_usd: toUsd(ledger),
    difference_usd: toUsd(bill - ledger),
    unexplained_usd: toUsd(nano("unexplained_nano_usd")),
    limit_usd: toUsd(nano("limit_nano_usd")),
    is_within_limit: nano("unexplained_nano_usd") <= nano("limit_nano_usd"),
    causes: causes.map((one) => {
      const { remedy, advice } = CAUSES[one.cause];
      return { ...one, remedy, advice };
    }),
    corrections: { proposed: Number(row.proposed), applied: Number(row.applied), undone: Number(row.undone) },
    created_at: toIso(Number(row.created_at)),
  };
}
