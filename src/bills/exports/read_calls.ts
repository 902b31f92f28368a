import { createHash } from "node:crypto";
import { getTableColumns } from "drizzle-orm";
import type { ExportColumn, ExportedCalls } from "../../contract/exports.ts";
import { toIso } from "../../kernel/clock.ts";
import { formatUsd } from "../../kernel/money.ts";
import { ALL_TAGS } from "../../ledger/mod.ts";
import { type SqlValue, type Store, tables } from "../../store/mod.ts";

type ReadContext = { store: Pick<Store, "read"> };

const kindOf = (name: string, type: string): ExportColumn["kind"] =>
  name === "at" ? "time" : name.endsWith("_nano_usd") ? "usd" : type === "text" ? "text" : "integer";

/** Every column of the ledger, so that one that is added is exported too. */
const SOURCES = Object.values(getTableColumns(tables.calls))
  .map((column) => ({ name: column.name, kind: kindOf(column.name, column.getSQLType()) }));

const COLUMNS: ExportColumn[] = SOURCES.map(({ name, kind }) => ({
  name: name.replace(/_nano_usd$/, "_usd"),
  kind,
}));

const LIST = SOURCES.map(({ name }) => name === "tags" ? `${ALL_TAGS} AS tags` : name).join(", ");
const POSITION = SOURCES.findIndex(({ name }) => name === "position");

const readers = SOURCES.map(({ kind }) => (value: SqlValue) => {
  if (value === null) return null;
  if (kind === "text") return value as string;
  if (kind === "usd") return formatUsd(BigInt(value as bigint));
  return kind === "time" ? toIso(Number(value)) : Number(value);
});

/**
 * Reads a page of the entries of the ledger in the order of their positions: calls, and the entries that adjust them. No entry is
 * ever changed, so pages that are read at different times fit together.
 */
export async function readCalls(
  { store }: ReadContext,
  { after, limit, agentId }: { after: number; limit: number; agentId?: string | undefined },
): Promise<ExportedCalls> {
  const [of, args] = agentId === undefined ? ["", [after]] : [" AND agent_id = ?", [after, agentId]];
  const { rows: [newest] } = await store.read({ sql: "SELECT coalesce(max(position), 0) FROM calls" });
  const head = Number(newest![0]);
  const { rows } = await store.read({
    sql: `SELECT ${LIST} FROM calls WHERE position > ?${of} AND position <= ? ORDER BY position LIMIT ?`,
    args: [...args, head, limit],
  });
  const before = after === 0 ? undefined : await store.read({
    sql: `SELECT call_id FROM calls WHERE position <= ?${of} ORDER BY position DESC LIMIT 1`,
    args,
  });
  return {
    ledger: await readLedgerId(store),
    columns: COLUMNS,
    rows: rows.map((row) => row.map((value, index) => readers[index]!(value))),
    next_position: rows.length < limit ? Math.max(head, after) : Number(rows.at(-1)![POSITION]),
    head_position: head,
    after_call_id: (before?.rows[0]?.[0] ?? null) as string | null,
  };
}

/** Returns what tells the ledgers of databases apart: a hash of the first entry, which never changes; null without one. */
export async function readLedgerId(store: ReadContext["store"]): Promise<string | null> {
  const { rows: [first] } = await store.read({
    sql: "SELECT position, call_id, at FROM calls ORDER BY position LIMIT 1",
  });
  return first ? createHash("sha256").update(first.map(String).join("\n")).digest("hex").slice(0, 16) : null;
}
