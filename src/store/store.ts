import { PurserError } from "../kernel/errors.ts";
import type { Durations } from "../kernel/clock.ts";
import { SELECT_SYNCHRONOUS } from "./dialect.ts";
import type { EachRow } from "./each_row.ts";
import type { InstanceLocks } from "./instance_locks.ts";
import type { Migration } from "./migrations/migrations.ts";
import type { Logic } from "./schema/migrate.ts";
import type { SetWriter } from "./write_unit.ts";

/** A value that goes into or comes out of SQL. Integers come out as bigint from every driver. */
export type SqlValue = null | string | number | bigint | Uint8Array;

/** One SQL statement with its positional values. */
export interface Statement {
  sql: string;
  args?: readonly SqlValue[];
  /** In place of `args`: rows that the statement reads as `each_row v`. */
  each?: EachRow;
  /** A query: where it has no row, the statement has no effect. A local file asks it first, since that takes less time. */
  onlyIf?: Statement;
}

/** The result of one statement: rows as arrays in column order. */
export interface ResultSet {
  columns: string[];
  rows: SqlValue[][];
}

/** The measures of the writes of a process. */
export interface WriteMeasures {
  /** The number of units and items that wait for their commit to begin. */
  readonly waiting: number;
  /** The durations of commits, also of those that failed. */
  readonly commitSeconds: Durations;
}

/**
 * The port to a database. Three drivers implement it: a local file (or memory) with one connection per process, a remote
 * libSQL server, and a schema of a PostgreSQL database. One suite runs over all.
 */
export interface Store {
  readonly kind: "file" | "memory" | "remote";
  /** The dialect of SQL that it reads: see dialect.ts. */
  readonly engine: "sqlite" | "postgres";
  /** The steps of the schema, and the logic that comes before that of all, where an engine has its own; default: SQLite's. */
  readonly schema?: { migrations: readonly Migration[]; logic: readonly Logic[] };
  /** True if other processes may use the database at the same time. */
  readonly isShared: boolean;
  /** The locks of the instances that use the database. */
  readonly instances: InstanceLocks;
  /** Runs one query, outside any transaction. A local database refuses a statement that writes. */
  read(statement: Statement): Promise<ResultSet>;
  /** Runs one query that may read much: a server runs it in another thread, so that its other requests don't wait for it. */
  readLong(statement: Statement): Promise<ResultSet>;
  /** Runs several queries over one consistent view; `isLong` if a set follows that is, see `SetWriter.isLong()`. */
  readAll(statements: readonly Statement[], how?: { isLong?: boolean }): Promise<ResultSet[]>;
  /**
   * Commits the statements as one unit: all of them or none. Units that wait at the same time share a
   * transaction (group commit); a unit that fails does not affect the others. Resolves after the commit is durable.
   *
   * After a connection to a remote server broke, the unit is committed at most once; results of queries (SELECT, or WITH …
   * SELECT) are then of a later moment, so read facts by them, never by RETURNING; a statement that writes begins with its
   * verb.
   *
   * @throws {ConstraintError} a constraint refused the unit, which is rolled back
   * @throws {PurserError} `unavailable` when the database can't be reached in time
   */
  write(statements: readonly Statement[]): Promise<ResultSet[]>;
  /**
   * Commits an item together with others of its kind that wait at the same time, by the statements of the whole set, so
   * that their number does not grow with the items. Each item is committed whole or not at all; an item that is refused does
   * not affect the rest of its set.
   *
   * @throws as `write`
   */
  writeInSet<Item, Result>(writer: SetWriter<Item, Result>, item: Item): Promise<Result>;
  /** The number of units that wait to be written, and the durations of commits. */
  readonly writes: WriteMeasures;
  /** Returns whether a server answers without the token that this process sends; only remote databases have it. */
  answersAnyone?(): Promise<boolean>;
  /** Returns the free disk space for the database in bytes; undefined where it is unknown. */
  freeBytes(): Promise<number | undefined>;
  close(): Promise<void>;
}

/** A constraint (an existing key, a trigger that refuses) rejected a write unit. */
export class ConstraintError extends Error {
  override name = "ConstraintError";
}

/**
 * Returns a statement that refuses its unit with a `ConstraintError` unless a condition is true, so also if it is NULL. It never
 * changes anything. In PostgreSQL the condition must be a boolean: `EXISTS (SELECT …)`, not `SELECT 1 …`.
 */
export function requireThat({ sql, args }: Statement): Statement {
  return { sql: `INSERT INTO tallies (what) SELECT NULL WHERE (${sql}) IS NOT TRUE`, args };
}

/** The most attempts to replace a state that other writers keep changing. */
const MAX_ATTEMPTS = 50;

/**
 * Replaces a state that was read and checked before. `replace` reads it, checks it, and commits its write together with
 * `requireThat()` it is still the same; if the state is another one by then, it begins anew.
 *
 * @throws {PurserError} `conflict` if other writers change the state again and again
 */
export async function replaceState<Result>(what: string, replace: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      return await replace();
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
    }
  }
  throw new PurserError("conflict", `Cannot change ${what}: other writers keep changing it; try again`);
}

/** Converts the rows of a result to objects. */
export function toObjects<T = Record<string, SqlValue>>(result: ResultSet): T[] {
  const { columns, rows } = result;
  return rows.map((row) => {
    const object: Record<string, SqlValue> = {};
    for (let i = 0; i < columns.length; i++) object[columns[i]!] = row[i]!;
    return object as T;
  });
}

/**
 * Converts whole JS numbers, which both drivers bind as REAL, to INTEGER, so that expressions over them stay exact.
 */
export function toBindable(value: SqlValue): SqlValue {
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
}

// The count changes a page: an UPDATE that changes nothing succeeds on a full disk. It is always the same row.
const PROBE = `INSERT INTO tallies (what, name, outcome, count) VALUES ('probe', '', '', 1)
ON CONFLICT (what, name, outcome) DO UPDATE SET count = tallies.count + 1`;

/**
 * Commits a write that changes the database.
 *
 * @throws {PurserError} `unavailable` when the database accepts no writes
 */
export async function checkWritable(store: Pick<Store, "write">): Promise<void> {
  await store.write([{ sql: PROBE }]);
}

const FLUSH: SetWriter<undefined, void> = {
  sizeOf: () => 0,
  isLong: () => true,
  plan: (items) => ({ statements: [{ sql: PROBE }], read: () => items.map(() => {}) }),
};

/** Waits until all commits are on the disk, also those that a power loss might have undone; where there are threads, in one. */
export async function flushCommits(store: Pick<Store, "writeInSet">): Promise<void> {
  await store.writeInSet(FLUSH, undefined);
}

/**
 * The durability of commits: flushed to the disk before they are acknowledged (`full`), possibly lost at a power failure
 * (`normal`), or not reported by the server (`unknown`).
 */
export type CommitDurability = "full" | "normal" | "unknown";

/**
 * Queries the durability of commits. In a write transaction, which a replica forwards to the primary. sqld opens each
 * connection with the value of its database's durability_mode (off 0, relaxed 1, strong 2, extra 3) and refuses to change it.
 *
 * @throws {PurserError} `unavailable` when it can't be reached
 */
export async function readDurability(store: Pick<Store, "write">): Promise<CommitDurability> {
  try {
    const [result] = await store.write([{ sql: SELECT_SYNCHRONOUS }]);
    const synchronous = result?.rows[0]?.[0];
    if (typeof synchronous !== "bigint") return "unknown";
    return synchronous >= 2n ? "full" : "normal";
  } catch (error) {
    if ((error as { code?: unknown }).code === "unavailable") throw error;
    return "unknown"; // the server doesn't support or allow the statement
  }
}

/**
 * Reads whether connections of a libSQL server checkpoint the WAL when they commit. Where several processes write, sqld
 * 0.24 may then give its write lock to a closed connection and answer no write until it is restarted. False where the
 * server checkpoints by itself, as with `--checkpoint-interval-s`, or doesn't report it.
 *
 * @throws {PurserError} `unavailable` when it can't be reached
 */
export async function checkpointsOnCommit(store: Pick<Store, "read">): Promise<boolean> {
  try {
    const { rows } = await store.read({ sql: "PRAGMA wal_autocheckpoint" });
    return Number(rows[0]?.[0] ?? 0) > 0;
  } catch (error) {
    if ((error as { code?: unknown }).code === "unavailable") throw error;
    return false; // the server doesn't support or allow the statement
  }
}
