import { BILL_LINE_DECIMALS } from "../../contract/values.ts";
import { type Clock, DAY_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Ids } from "../../kernel/ids.ts";
import {
  ConstraintError,
  requireThat,
  type SqlValue,
  type Statement,
  type Store,
  toObjects,
} from "../../store/mod.ts";
import type { BillLine } from "../lines/bill_line.ts";
import { LINE_COLUMNS, LINE_INTEGERS, toRow } from "../lines/line_rows.ts";
import { readClosedMonths } from "../periods/periods.ts";

/*
 * An import stages its lines page by page, each page in one commit with the token of the next one, and shows them all by one commit at
 * its end. What is staged is seen by no reader, so that an import that ends in the middle leaves nothing.
 */

export interface BillStore {
  store: Store;
  clock: Pick<Clock, "now">;
  ids: Ids;
}

/** The query of an import. */
export interface BillQuery {
  source: string;
  /** '' where the source doesn't tell it. */
  account: string;
  /** The start of the lines that are asked for: [from, to), in milliseconds since the epoch. */
  from: number;
  to: number;
  /** Of all that the answer depends on: the token of a page is only used for the same query. */
  queryHash: string;
  /** Of a file. */
  sha256?: string | undefined;
}

/** An import as it is kept. */
export interface BillImport extends BillQuery {
  importId: string;
  status: "in_progress" | "done" | "failed";
  /** The page to read next: null for the first, `END` after the last. */
  page: string | null;
  /** The time up to which the source had counted, where it says so. */
  refreshedAt: number | null;
  lines: number;
  newLines: number;
  /** Lines of earlier imports that it has replaced: by a revision, or since the source has them no more. */
  revisedLines: number;
  /** The parts that were not understood, with their number. */
  unknown: Record<string, number>;
  error: string | null;
  createdAt: number;
  endedAt: number | null;
}

/** The page after the last. */
export const END = "";

/** After it, what was staged is too old to be continued. */
const CONTINUED_MS = DAY_MS;

const COLUMNS =
  `import_id, source, account, status, from_at, to_at, query_hash, page, sha256, refreshed_at, lines,
  new_lines, revised_lines, unknown, error, created_at, ended_at`;

const ABANDONED = "SELECT import_id FROM bill_imports WHERE status = 'in_progress' AND created_at < ?1";
const FORGET_OLD: readonly string[] = [
  `DELETE FROM bill_lines WHERE state = 'staged' AND import_id IN (${ABANDONED})`,
  `UPDATE bill_imports SET status = 'failed', error = 'It was not continued within a day', ended_at = created_at
WHERE import_id IN (${ABANDONED})`,
];

// Of several processes with the same query, one begins.
const BEGIN = `INSERT INTO bill_imports (${COLUMNS})
SELECT ?1, ?2, ?3, 'in_progress', CAST(?4 AS BIGINT), CAST(?5 AS BIGINT), ?6, NULL, ?7, NULL, 0, 0, 0, '{}', NULL, CAST(?8 AS BIGINT), NULL
WHERE NOT EXISTS (SELECT 1 FROM bill_imports WHERE source = ?2 AND query_hash = ?6 AND status = 'in_progress')`;

/** Begins an import, or continues the one of the same query that has not ended. */
export async function beginImport({ store, clock, ids }: BillStore, query: BillQuery): Promise<BillImport> {
  const now = clock.now();
  const { source, account, from, to, queryHash, sha256 = null } = query;
  await store.write([
    ...FORGET_OLD.map((sql) => ({ sql, args: [now - CONTINUED_MS] })),
    { sql: BEGIN, args: [ids.next("bim"), source, account, from, to, queryHash, sha256, now] },
  ]);
  const [found] = await select(
    store,
    "source = ? AND query_hash = ? AND status = 'in_progress' ORDER BY created_at, import_id LIMIT 1",
    [source, queryHash],
  );
  if (!found) {
    throw new PurserError("conflict", `Cannot import from ${source}: another process has just done so`);
  }
  return found;
}

/** A page of lines. */
export interface StagedPage {
  lines: readonly BillLine[];
  /** The token of the page after it; undefined for the last one. */
  next?: string | undefined;
  refreshedAt?: number | undefined;
  unknown?: Readonly<Record<string, number>> | undefined;
}

const ROW_COLUMNS = ["source", "account", "import_id", "state", "revision", ...LINE_COLUMNS];
const STAGE = `INSERT INTO bill_lines (${ROW_COLUMNS.join(", ")})
SELECT ${ROW_COLUMNS.map((column) => `v.${column}`).join(", ")} FROM each_row v`;

const isAt = ({ importId, page }: Pick<BillImport, "importId" | "page">) =>
  requireThat({
    sql: `EXISTS (SELECT 1 FROM bill_imports WHERE import_id = ?1 AND status = 'in_progress'
  AND page IS NOT DISTINCT FROM CAST(?2 AS TEXT))`,
    args: [importId, page],
  });

/**
 * Stages the page that the import is at, and returns the import at the next one. Throws `conflict` if another process has done it, and
 * `invalid` for a line that can't be kept.
 */
export async function stagePage({ store }: BillStore, at: BillImport, page: StagedPage): Promise<BillImport> {
  const unknown = { ...at.unknown };
  for (const [part, count] of Object.entries(page.unknown ?? {})) {
    unknown[part] = (unknown[part] ?? 0) + count;
  }
  const after: BillImport = {
    ...at,
    page: page.next ?? END,
    lines: at.lines + page.lines.length,
    refreshedAt: page.refreshedAt ?? at.refreshedAt,
    unknown,
  };
  const rows = page.lines.map((line) => [at.source, at.account, at.importId, "staged", 0, ...toRow(line)]);
  const each = { columns: ROW_COLUMNS, integers: ["revision", ...LINE_INTEGERS], rows };
  await commit(store, at, [
    ...(rows.length > 0 ? [{ sql: STAGE, each }] : []),
    {
      sql:
        `UPDATE bill_imports SET page = ?2, lines = ?3, refreshed_at = ?4, unknown = ?5 WHERE import_id = ?1`,
      args: [at.importId, after.page, after.lines, after.refreshedAt, JSON.stringify(unknown)],
    },
  ]);
  return after;
}

/** Removes what an import has staged, so that it begins anew: the token of its page has expired. */
export async function restartImport({ store }: BillStore, at: BillImport): Promise<BillImport> {
  await commit(store, at, [
    { sql: "DELETE FROM bill_lines WHERE import_id = ?1 AND state = 'staged'", args: [at.importId] },
    {
      sql:
        "UPDATE bill_imports SET page = NULL, lines = 0, refreshed_at = NULL, unknown = '{}' WHERE import_id = ?1",
      args: [at.importId],
    },
  ]);
  return { ...at, page: null, lines: 0, refreshedAt: null, unknown: {} };
}

/** Ends an import without its lines. */
export async function failImport(
  { store, clock }: BillStore,
  { importId }: Pick<BillImport, "importId">,
  error: string,
): Promise<void> {
  const isOpen = "EXISTS (SELECT 1 FROM bill_imports WHERE import_id = ?1 AND status = 'in_progress')";
  await store.write([
    {
      sql: `DELETE FROM bill_lines WHERE import_id = ?1 AND state = 'staged' AND ${isOpen}`,
      args: [importId],
    },
    {
      sql: `UPDATE bill_imports SET status = 'failed', error = ?2, ended_at = ?3, page = NULL
WHERE import_id = ?1 AND status = 'in_progress'`,
      args: [importId, error.slice(0, 1_000), clock.now()],
    },
  ]);
}

const STAGED = "import_id = ?1 AND state = 'staged'";
/** A staged line with the key of a line. */
const IS_STAGED = `SELECT 1 FROM bill_lines s WHERE s.source = ?2 AND s.account = ?3
  AND s.natural_key = bill_lines.natural_key AND s.import_id = ?1 AND s.state = 'staged'`;
const CURRENT = "source = ?2 AND account = ?3 AND state = 'current'";

// The same rows get the same numbers, in whatever order they come.
const NUMBER_REPEATED = `UPDATE bill_lines SET natural_key = natural_key || '#' || r.nth
FROM (SELECT position AS p, row_number() OVER (PARTITION BY natural_key ORDER BY content, position) AS nth
  FROM bill_lines WHERE ${STAGED}) r WHERE position = r.p AND r.nth > 1`;
const KEEP_LAST =
  `DELETE FROM bill_lines WHERE ${STAGED} AND EXISTS (${IS_STAGED} AND s.position > bill_lines.position)`;

const REPLACE = "UPDATE bill_lines SET state = 'replaced', replaced_by = ?1 WHERE";
const REPLACE_CHANGED = `${REPLACE} ${CURRENT}
  AND natural_key IN (SELECT natural_key FROM bill_lines WHERE ${STAGED})
  AND NOT EXISTS (${IS_STAGED} AND s.content = bill_lines.content)`;
const REPLACE_GONE = `${REPLACE} ${CURRENT} AND starts_at >= ?4 AND starts_at < ?5
  AND series IN (?6, ?7) AND NOT EXISTS (${IS_STAGED})`;
const FORGET_SAME = `DELETE FROM bill_lines WHERE ${STAGED} AND EXISTS (SELECT 1 FROM bill_lines c
  WHERE c.source = ?2 AND c.account = ?3 AND c.natural_key = bill_lines.natural_key AND c.state = 'current')`;
const SHOW =
  `UPDATE bill_lines SET state = 'current', revision = 1 + coalesce((SELECT max(r.revision) FROM bill_lines r
  WHERE r.source = ?2 AND r.account = ?3 AND r.natural_key = bill_lines.natural_key AND r.state IN ('replaced', 'closed')), 0)
WHERE ${STAGED}`;

// A closed month ?2 keeps its lines. What comes after it was closed counts in the next open month ?3: new lines, and reversals of those that are replaced.
const MOVE_LATE =
  `UPDATE bill_lines SET month = ?3 WHERE import_id = ?1 AND state = 'current' AND month = ?2`;
const KEEP_CLOSED =
  `UPDATE bill_lines SET state = 'closed' WHERE replaced_by = ?1 AND state = 'replaced' AND month = ?2`;
const negated = (column: string): string => {
  if (column.endsWith("_nano_usd")) return `-${column}`;
  return `CASE WHEN ${column} LIKE '-%' THEN substr(${column}, 2) WHEN ${column} <> '0' THEN '-' || ${column} ELSE ${column} END`;
};
const REVERSED = [...BILL_LINE_DECIMALS, "amount_nano_usd", "list_nano_usd"] as const;
const COPIED = LINE_COLUMNS.filter((column) => column !== "month" && !REVERSED.some((one) => one === column));
const REVERSE = `INSERT INTO bill_lines (import_id, state, month, source, account, revision, ${
  COPIED.join(", ")
}, ${REVERSED.join(", ")}) SELECT ?1, 'reversal', ?3, source, account, revision, ${COPIED.join(", ")}, ${
  REVERSED.map(negated).join(", ")
}
FROM bill_lines WHERE replaced_by = ?1 AND state = 'closed' AND month = ?2 ORDER BY position`;
const FINISH = `UPDATE bill_imports SET status = 'done', page = NULL, ended_at = ?2, from_at = ?3, to_at = ?4,
  new_lines = (SELECT count(*) FROM bill_lines WHERE import_id = ?1 AND state = 'current' AND revision = 1),
  revised_lines = (SELECT count(*) FROM bill_lines WHERE replaced_by = ?1) WHERE import_id = ?1`;

/** The meaning of the lines of a source. */
export interface LinesOf {
  /** The series that it has for the whole window: lines of earlier imports in it that it has no more are replaced. Empty: no such. */
  wholeSeries: readonly BillLine["series"][];
  /** True if lines with the same key are several ones, such as the rows of a file; else the last one counts. */
  areRowsDistinct: boolean;
}

/** Shows all lines of an import at once. Throws `conflict` if another process has done it. */
export async function finishImport(ctx: BillStore, at: BillImport, lines: LinesOf): Promise<BillImport> {
  const { importId, source, account, from, to } = at;
  const args = [importId, source, account];
  const closed = await readClosedMonths(ctx.store, { source, account });
  const [first, second = first] = lines.wholeSeries;
  await commit(ctx.store, at, [
    // A month that is closed meanwhile would lose lines.
    requireThat({
      sql:
        `(SELECT count(DISTINCT month) FROM bill_periods WHERE source = ?1 AND account IN ('', ?2) AND state = 'closed') = ?3`,
      args: [source, account, closed.length],
    }),
    {
      sql: lines.areRowsDistinct ? NUMBER_REPEATED : KEEP_LAST,
      args: lines.areRowsDistinct ? [importId] : args,
    },
    { sql: REPLACE_CHANGED, args },
    ...(first === undefined ? [] : [{ sql: REPLACE_GONE, args: [...args, from, to, first, second!] }]),
    { sql: FORGET_SAME, args },
    { sql: SHOW, args },
    ...closed.flatMap(({ month, next }) => [
      { sql: MOVE_LATE, args: [importId, month, next] },
      { sql: KEEP_CLOSED, args: [importId, month] },
      { sql: REVERSE, args: [importId, month, next] },
    ]),
    { sql: FINISH, args: [importId, ctx.clock.now(), from, to] },
  ]);
  return (await select(ctx.store, "import_id = ?", [importId]))[0]!;
}

async function commit(store: Store, at: BillImport, statements: Statement[]): Promise<void> {
  try {
    await store.write([isAt(at), ...statements]);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    const message =
      `Cannot go on with the import ${at.importId}: another process does; see its state by purser bills list`;
    throw new PurserError("conflict", message, { cause: error });
  }
}

/** Lists imports, newest first. */
export async function listImports(
  { store }: { store: Pick<Store, "read"> },
  { source, before, limit }: {
    source?: string | undefined;
    before?: readonly [at: number, id: string] | undefined;
    limit: number;
  },
): Promise<BillImport[]> {
  const given: (readonly [sql: string, args: readonly SqlValue[]])[] = [
    ...(source === undefined ? [] : [["source = ?", [source]] as const]),
    ...(before === undefined ? [] : [["(created_at, import_id) < (?, ?)", before] as const]),
  ];
  const where = given.length === 0 ? "true" : given.map(([sql]) => sql).join(" AND ");
  return await select(store, `${where} ORDER BY created_at DESC, import_id DESC LIMIT ?`, [
    ...given.flatMap(([, args]) => args),
    limit,
  ]);
}

// Of the same file, read in the same way, without a later import of its time.
const IS_LATEST =
  `source = ? AND account = ? AND query_hash = ? AND status = 'done' AND NOT EXISTS (SELECT 1 FROM bill_imports l
  WHERE l.source = bill_imports.source AND l.account = bill_imports.account AND l.status = 'done'
    AND (l.created_at, l.import_id) > (bill_imports.created_at, bill_imports.import_id)
    AND l.from_at < bill_imports.to_at AND l.to_at > bill_imports.from_at) LIMIT 1`;

/** Finds a finished import of a file whose lines are the latest of their time, or any import by its id. */
export async function findImport(
  { store }: { store: Pick<Store, "read"> },
  by: { importId: string } | { source: string; account: string; queryHash: string },
): Promise<BillImport | undefined> {
  const [found] = "importId" in by
    ? await select(store, "import_id = ?", [by.importId])
    : await select(store, IS_LATEST, [by.source, by.account, by.queryHash]);
  return found;
}

/** Returns the source and the account of lines that a new import of the same usage would count twice; undefined where there are none. */
export async function findDoubled(
  { store }: { store: Pick<Store, "read"> },
  { source, account, from, to }: BillQuery,
  others: readonly string[],
): Promise<{ source: string; account: string } | undefined> {
  const names = JSON.stringify(others);
  const { rows: [found] } = await store.read({
    sql:
      `SELECT source, account FROM bill_lines WHERE state = 'current' AND starts_at >= ?1 AND starts_at < ?2
  AND (source = ?3 AND account <> ?4 AND '' IN (account, CAST(?4 AS TEXT))
    OR source IN (SELECT value FROM json_each(?5)) AND (account = ?4 OR '' IN (account, CAST(?4 AS TEXT)))) LIMIT 1`,
    args: [from, to, source, account, names],
  });
  return found && { source: found[0] as string, account: found[1] as string };
}

async function select(
  store: Pick<Store, "read">,
  where: string,
  args: readonly SqlValue[],
): Promise<BillImport[]> {
  const rows = toObjects(
    await store.read({ sql: `SELECT ${COLUMNS} FROM bill_imports WHERE ${where}`, args }),
  );
  const number = (value: SqlValue | undefined) => value == null ? null : Number(value);
  return rows.map((row) => ({
    importId: row.import_id as string,
    source: row.source as string,
    account: row.account as string,
    status: row.status as BillImport["status"],
    from: Number(row.from_at),
    to: Number(row.to_at),
    queryHash: row.query_hash as string,
    page: row.page as string | null,
    sha256: row.sha256 as string | null ?? undefined,
    refreshedAt: number(row.refreshed_at),
    lines: Number(row.lines),
    newLines: Number(row.new_lines),
    revisedLines: Number(row.revised_lines),
    unknown: JSON.parse(row.unknown as string),
    error: row.error as string | null,
    createdAt: Number(row.created_at),
    endedAt: number(row.ended_at),
  }));
}
