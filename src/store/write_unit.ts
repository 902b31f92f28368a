import type { ResultSet, Statement } from "./store.ts";

/** The statements of one caller, committed as a whole. */
export type WriteUnit = readonly Statement[];

/** Writes items of one kind, as many as wait at the same time, by one set of statements. */
export interface SetWriter<Item, Result> {
  /** Returns the statements that write all items, in this order, and reads the result of each from their results. */
  plan(items: readonly Item[]): SetPlan<Result>;
  /** Returns the approximate size of an item in bytes. */
  sizeOf(item: Item): number;
  /** Returns whether an item may be in a set with those before it. */
  fits?(item: Item, items: readonly Item[]): boolean;
  /**
   * Returns true for an item that a power loss may undo after its commit, though not a crash of this process: it is written
   * without waiting for the disk.
   */
  mayLose?(item: Item): boolean;
  /** Returns true for an item whose statements take so long that others should be served meanwhile. It has a set of its own. */
  isLong?(item: Item): boolean;
}

/** The statements of a set, and the reader of their results. */
export interface SetPlan<Result> {
  statements: readonly Statement[];
  /** Returns the result of each item, once the statements are committed. */
  read(results: ResultSet[]): Result[];
}

/** The deadline of a caller for a unit. */
export interface WriteDeadline {
  /** The deadline, in the time of a monotonic clock. */
  until: number;
  /** Aborts at the deadline. */
  signal: AbortSignal;
}
