import { PurserError } from "../../kernel/errors.ts";
import { NANO_PER_USD, type NanoUsd } from "../../kernel/money.ts";
import type { SqliteCopy } from "./sqlite_copy.ts";
import type { Reads } from "./copyable.ts";
import { USER_TABLES } from "../dialect.ts";
import { UNFINISHED } from "../schema/migrate.ts";

/** The sums of a ledger up to a position. */
export interface LedgerSums {
  /** The position of its newest entry; 0 without any. */
  position: bigint;
  /** The entries: calls, and corrections of their costs. */
  entries: bigint;
  calls: bigint;
  /** The calls without a known price, which count as zero in the cost. */
  unpricedCalls: bigint;
  costNanoUsd: NanoUsd;
  /** The time of the newest call, in milliseconds since the epoch; null without any. */
  newestCallAt: number | null;
}

/** The entries that one query sums: few enough for the time-out of a server. */
const PAGE = 100_000n;

const SUMS = `SELECT count(*), count(*) FILTER (WHERE adjusts IS NULL), coalesce(sum(unpriced), 0),
  coalesce(sum(cost_nano_usd / ${NANO_PER_USD}), 0), coalesce(sum(cost_nano_usd % ${NANO_PER_USD}), 0)
FROM calls WHERE position > ? AND position <= ?`;
const NEWEST_CALL = "SELECT at FROM calls WHERE adjusts IS NULL AND position <= ? ORDER BY at DESC LIMIT 1";

/** Returns the position of the newest entry of the ledger; 0 without any. */
export async function newestPosition(database: Reads): Promise<bigint> {
  const { rows } = await database.read({ sql: "SELECT coalesce(max(position), 0) FROM calls" });
  return rows[0]![0] as bigint;
}

/** Sums the ledger up to a position, by default to its end. */
export async function readSums(database: Reads, upTo?: bigint): Promise<LedgerSums> {
  const position = upTo ?? await newestPosition(database);
  const sums = { position, entries: 0n, calls: 0n, unpricedCalls: 0n, costNanoUsd: 0n };
  for (let from = 0n; from < position; from += PAGE) {
    const to = from + PAGE < position ? from + PAGE : position;
    const { rows } = await database.read({ sql: SUMS, args: [from, to] });
    const [entries, calls, unpriced, whole, rest] = rows[0] as bigint[];
    sums.entries += entries!;
    sums.calls += calls!;
    sums.unpricedCalls += unpriced!;
    sums.costNanoUsd += whole! * NANO_PER_USD + rest!;
  }
  const { rows: [newest] } = await database.read({ sql: NEWEST_CALL, args: [position] });
  return { ...sums, newestCallAt: newest ? Number(newest[0]) : null };
}

/**
 * Throws unless a ledger and its copy have the same sums.
 *
 * @throws {PurserError} `internal`, naming both
 */
export function requireSame(ledger: LedgerSums, copy: LedgerSums, action: string): void {
  const keys = Object.keys(ledger) as (keyof LedgerSums)[];
  if (keys.every((key) => ledger[key] === copy[key])) return;
  const say = ({ entries, costNanoUsd, position }: LedgerSums) =>
    `${entries} entries up to ${position}, ${costNanoUsd} nano-USD`;
  throw new PurserError(
    "internal",
    `${action}: the copy is not the same as the ledger (${say(copy)}, not ${say(ledger)}); nothing was kept`,
  );
}

/**
 * Checks that a file is sound: by SQLite's own check of every page and index, and of its foreign keys. Returns its sums.
 *
 * @throws {PurserError} `invalid` if it isn't
 */
export async function checkFile(file: SqliteCopy, remedy: string): Promise<LedgerSums> {
  const refuse = (reason: unknown) =>
    new PurserError("invalid", `Cannot use ${file.name}: it is damaged (${reason}); ${remedy}`);
  const { rows } = await file.read({ sql: "PRAGMA integrity_check" });
  if (rows[0]?.[0] !== "ok") throw refuse(rows[0]?.[0]);
  const { rows: [orphan] } = await file.read({ sql: "PRAGMA foreign_key_check" });
  if (orphan) throw refuse(`a row of ${orphan[0]} names a row of ${orphan[2]} that is missing`);
  return await readSums(file);
}

/** The tables in which a database that has never been used has rows. */
const BOOKKEEPING = [
  "purser_migrations",
  "installed_logic",
  "rollup_positions",
  "tallies",
  UNFINISHED,
];

/**
 * Returns the names of the tables of a database, and one of them that has content; undefined for a database without any, and for
 * one whose restore has not ended.
 *
 * @throws {PurserError} `conflict` if it is a database of another program
 */
export async function readContent(
  database: Reads,
  action: string,
): Promise<{ tables: string[]; used: string | undefined }> {
  const tables = (await database.read({ sql: USER_TABLES })).rows.map(([name]) => String(name));
  if (tables.includes(UNFINISHED)) return { tables, used: undefined };
  const own = tables.filter((name) => !BOOKKEEPING.includes(name));
  if (own.length > 0 && !tables.includes("purser_migrations")) {
    throw new PurserError(
      "conflict",
      `${action}: it is the database of another program, it has a table ${own[0]}; choose another one`,
    );
  }
  for (const name of own) {
    const { rows } = await database.read({ sql: `SELECT 1 FROM "${name}" LIMIT 1` });
    if (rows.length > 0) return { tables, used: name };
  }
  return { tables, used: undefined };
}
