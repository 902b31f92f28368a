import { type SQL, sql } from "drizzle-orm";
import { startInUtc } from "../../../contract/windows.ts";
import type { Store } from "../../../store/mod.ts";

/** Returns a condition on entries of the ledger, by the name of their table: of a closed month, those that it was compared with. */
export type AsClosed = (table: "calls" | "w") => SQL;

/** Reads the closed months of a span. What is booked of them later is in no export: the bill, which was exported, has paid for it. */
export async function readAsClosed(
  { store }: { store: Pick<Store, "read"> },
  { from, to }: { from: number; to: number },
): Promise<AsClosed> {
  const { rows } = await store.read({
    sql: `SELECT p.month, p.providers, r.ledger_position FROM bill_periods p
JOIN reconciliations r ON r.reconciliation_id = p.reconciliation_id WHERE p.state = 'closed' AND p.providers IS NOT NULL`,
  });
  const closed = rows.map(([month, providers, position]) => {
    const start = Date.parse(`${month}-01T00:00:00Z`);
    return { start, end: startInUtc("month", start, 1), providers, position };
  }).filter(({ start, end }) => start < to && end > from);
  return (table) =>
    closed.reduce((all, { start, end, providers, position }) => {
      const entry = sql.raw(table);
      return sql`${all} AND NOT (${entry}.at >= ${start} AND ${entry}.at < ${end} AND ${entry}.position > ${position}
  AND ${entry}.provider IN (SELECT value FROM json_each(${providers})))`;
    }, sql`true`);
}
