import type { EachRow } from "./each_row.ts";
import type { SetWriter } from "./write_queue.ts";

/** A value that goes into or comes out of SQL. Integers come out as bigint from every driver. */
export type SqlValue = null | string | number | bigint | Uint8Array;

/** One SQL statement with its positional values. */
export interface Statement {
  sql: string;
  args?: readonly SqlValue[];
  /** In place of `args`: rows that the statement reads as `each_row v`. */
  each?: EachRow;
}

/** What one statement gave: rows as arrays in column order. */
export interface ResultSet {
  columns: string[];
  rows: SqlValue[][];
}

/** Tells which of the instances that use a database file are gone, so that their leases need not expire first. */
export interface InstanceLocks {
  /**
   * Takes this instance's lock, before its id is used anywhere; again is not an error. Resolves also where no lock can be
   * made: then only leases expire.
   */
  hold(instanceId: string): Promise<void>;
  /** Whether an instance of this host is known to be gone. False when it lives, or when that can't be told. */
  isGone(instanceId: string): Promise<boolean>;
  /** Removes the side files of instances that are gone, except those that `keep` accepts. */
  removeStale(keep: (instanceId: string) => boolean): Promise<void>;
  /** Releases the locks of this object and removes their side files. */
  close(): Promise<void>;
}

/** The instance locks of a database that has none: in memory, or on a server. */
export const noInstanceLocks: InstanceLocks = {
  hold: () => Promise.resolve(),
  isGone: () => Promise.resolve(false),
  removeStale: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/**
 * The port to a database. Two drivers implement it: a local file (or memory) with one connection per process, and a
 * remote libSQL server. One suite runs over both.
 */
export interface Store {
  readonly kind: "file" | "memory" | "remote";
  /** Whether other processes may use the database at the same time. */
  readonly isShared: boolean;
  /** The locks of the instances that use the database. */
  readonly instances: InstanceLocks;
  /** Runs one query, outside any transaction. In a file or in memory, no read accepts a statement that writes. */
  read(statement: Statement): Promise<ResultSet>;
  /** Runs several queries over one consistent view. */
  readAll(statements: readonly Statement[]): Promise<ResultSet[]>;
  /**
   * Commits the statements as one unit: all of them or none. Units that wait at the same time share a
   * transaction (group commit); one that fails alone fails alone. Resolves after the commit is durable.
   *
   * After a connection to a remote server broke, the unit is committed at most once; results of SELECT
   * statements are then those of the moment after, so take facts from SELECTs, never from RETURNING.
   *
   * @throws {ConstraintError} a constraint refused the unit; nothing of it is written
   * @throws {PurserError} `unavailable` when the database can't be reached in time
   */
  write(statements: readonly Statement[]): Promise<ResultSet[]>;
  /**
   * Commits an item together with others of its kind that wait at the same time, by the statements of the whole set:
   * what a commit costs does not grow with the statements that each item would need by itself. All of the item is
   * committed or none; an item that is refused does not take the rest of its set with it.
   *
   * @throws as `write`
   */
  writeInSet<Item, Result>(writer: SetWriter<Item, Result>, item: Item): Promise<Result>;
  /** How many units wait to be written; those of the commit under way are not counted. */
  readonly waitingWrites: number;
  /** How many bytes the disk has left for the database; undefined where that is not known. */
  freeBytes(): Promise<number | undefined>;
  close(): Promise<void>;
}

/** A constraint (a key that exists, a trigger that refuses) turned a write unit down. */
export class ConstraintError extends Error {
  override name = "ConstraintError";
}

/** The rows of a result as objects. */
export function toObjects<T = Record<string, SqlValue>>(result: ResultSet): T[] {
  const { columns, rows } = result;
  return rows.map((row) => {
    const object: Record<string, SqlValue> = {};
    for (let i = 0; i < columns.length; i++) object[columns[i]!] = row[i]!;
    return object as T;
  });
}

/**
 * JS numbers bind as REAL in both drivers. Whole ones are bound as INTEGER here, so that an expression
 * over them stays exact.
 */
export function toBindable(value: SqlValue): SqlValue {
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
}
