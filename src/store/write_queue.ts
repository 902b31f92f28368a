import { PurserError } from "../kernel/errors.ts";
import { Durations, systemClock } from "../kernel/clock.ts";
import type { ResultSet, SqlValue, WriteMeasures } from "./store.ts";
import type { SetWriter, WriteDeadline, WriteUnit } from "./write_unit.ts";

/** The wait of units for a database that other processes keep busy, counted from their arrival, not from their turn. */
export interface BusyDeadline {
  clock: { monotonic(): number };
  /** Returns whether a unit that has waited since then is retried after this error. */
  mayRetry(error: unknown, since: number): boolean;
}

/** The group of a commit: whether a power loss may undo it, and whether it is one long item; see `SetWriter`. */
export interface CommitHow {
  mayLose: boolean;
  isLong: boolean;
}

interface Waiting {
  work: { unit: WriteUnit } | { writer: SetWriter<unknown, unknown>; item: unknown };
  deadline?: WriteDeadline;
  /** The start of its wait, in the time of the queue's clock. */
  since: number;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** The maximum of statements that share a transaction: a batch must not hold the database for long. */
const MAX_STATEMENTS_PER_COMMIT = 4_000;

/** The maximum size of the units of a commit, which is written in one piece. A single one may be larger. */
const MAX_BYTES_PER_COMMIT = 1024 * 1024;
const LARGE_COMMIT_BYTES = 256 * 1024;

/** The maximum size of a set: a server accepts values of 5 MB. A single item may be larger. */
const MAX_ITEMS_PER_SET = 256;

const MAX_BYTES_PER_SET = 1024 * 1024;

/**
 * The only way to write. Units that arrive during a commit wait and are committed together by the next one (group
 * commit): units side by side, items of one kind as one set in the place of the first.
 */
export class WriteQueue implements WriteMeasures {
  readonly commitSeconds = new Durations();
  #waiting: Waiting[] = [];
  #isRunning = false;
  /** True if the last group was large. */
  #isLarge = false;
  #closed: Error | undefined;
  #idle: (() => void)[] = [];

  constructor(
    /**
     * Commits all units in one transaction and returns the results of each, or throws and commits none. After `until`
     * no caller waits for any of them; the one that waits longest has done so since `since`.
     */
    private readonly commit: (
      units: readonly WriteUnit[],
      until: number,
      since: number,
      how: CommitHow,
    ) => ResultSet[][] | Promise<ResultSet[][]>,
    /** Runs a task after the work that is ready now, so that callers of this turn share a commit. */
    private readonly defer: (task: () => void) => void,
    /** Called between two commits that follow each other at once; the next one waits for what it returns. */
    private readonly between: () => Promise<void> | undefined = () => undefined,
    private readonly busyDeadline?: BusyDeadline,
    /** Maps each value that is written. */
    private readonly scrub?: ScrubValue,
  ) {}

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves with the unit's results after the commit. A unit whose caller has given up by then is not committed. */
  push(unit: WriteUnit, deadline?: WriteDeadline): Promise<ResultSet[]> {
    return this.#enqueue({ unit }, deadline) as Promise<ResultSet[]>;
  }

  /** Resolves with the item's result after its set is committed. */
  pushInSet<Item, Result>(
    writer: SetWriter<Item, Result>,
    item: Item,
    deadline?: WriteDeadline,
  ): Promise<Result> {
    const work = { writer: writer as SetWriter<unknown, unknown>, item };
    return this.#enqueue(work, deadline) as Promise<Result>;
  }

  #enqueue(work: Waiting["work"], deadline: WriteDeadline | undefined): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => {
      const since = this.busyDeadline?.clock.monotonic() ?? 0;
      this.#waiting.push({ work, deadline, since, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      this.defer(() => void this.#run());
    });
  }

  /** Refuses new units with `reason` and resolves once the waiting ones are written. */
  async close(reason: Error): Promise<void> {
    this.#closed ??= reason;
    if (this.#isRunning) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      if (group.length > 0) await this.#commitGroup(group);
      if (this.#waiting.length === 0) break;
      await this.between();
      // A file is written in one piece: others have their turn after much of it.
      if (this.#isLarge) await new Promise<void>((resolve) => this.defer(resolve));
    }
    this.#isRunning = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** A refused unit must not make others fail: the group is halved until that unit is alone. */
  async #commitGroup(group: readonly Waiting[]): Promise<void> {
    let parts: Part[];
    let results: ResultSet[][];
    try {
      parts = toParts(group);
      if (this.scrub) { for (const part of parts) part.unit = scrubUnit(part.unit, this.scrub); }
      const since = Math.min(...group.map((waiting) => waiting.since));
      const how = { mayLose: group.every(mayLose), isLong: group.every(isLong) };
      const clock = this.busyDeadline?.clock ?? systemClock;
      const begunAt = clock.monotonic();
      try {
        results = await this.commit(parts.map((part) => part.unit), lastOf(group), since, how);
      } finally {
        this.commitSeconds.add((clock.monotonic() - begunAt) / 1000);
      }
    } catch (error) {
      if (group.length === 1 || !isRefusal(error)) {
        const retried = group.filter(({ since }) => this.busyDeadline?.mayRetry(error, since));
        this.#waiting.unshift(...retried);
        for (const waiting of group) if (!retried.includes(waiting)) waiting.reject(error);
        return;
      }
      const half = group.length >> 1;
      await this.#commitGroup(group.slice(0, half));
      await this.#commitGroup(group.slice(half));
      return;
    }
    parts.forEach((part, index) => part.resolve(results[index]!));
  }

  #takeGroup(): Waiting[] {
    if (this.#waiting.some(isGivenUp)) {
      for (const { deadline, reject } of this.#waiting.filter(isGivenUp)) reject(deadline!.signal.reason);
      this.#waiting = this.#waiting.filter((waiting) => !isGivenUp(waiting));
    }
    let statements = 0;
    let bytes = 0;
    let count = 0;
    const sets = new Map<unknown, { items: unknown[]; bytes: number }>();
    for (const waiting of this.#waiting) {
      const { work } = waiting;
      if (count > 0 && (isLong(waiting) || isLong(this.#waiting[0]!))) break;
      if ("unit" in work) {
        statements += work.unit.length;
        bytes += sizeOfUnit(work.unit);
        if (count > 0 && (statements > MAX_STATEMENTS_PER_COMMIT || bytes > MAX_BYTES_PER_COMMIT)) break;
      } else {
        const set = sets.get(work.writer) ?? { items: [], bytes: 0 };
        set.bytes += work.writer.sizeOf(work.item);
        if (set.items.length > 0) {
          if (set.items.length >= MAX_ITEMS_PER_SET || set.bytes > MAX_BYTES_PER_SET) break;
          if (work.writer.fits?.(work.item, set.items) === false) break;
        }
        set.items.push(work.item);
        sets.set(work.writer, set);
      }
      count++;
    }
    this.#isLarge = bytes > LARGE_COMMIT_BYTES;
    return this.#waiting.splice(0, count);
  }
}

/** Returns the length of the texts that a unit writes. */
function sizeOfUnit(unit: WriteUnit): number {
  const sizeOf = (values: readonly SqlValue[] = []) =>
    values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0);
  return unit.reduce(
    (sum, { args, each }) =>
      sum + sizeOf(args) + (each?.rows.reduce((rows, row) => rows + sizeOf(row), 0) ?? 0),
    0,
  );
}

/** A unit of a commit, and the receiver of its results. */
interface Part {
  unit: WriteUnit;
  resolve(results: ResultSet[]): void;
}

/** Returns a value without the secrets that must not be kept; most values are returned as they are. */
export type ScrubValue = (value: SqlValue) => SqlValue;

function scrubUnit(unit: WriteUnit, scrub: ScrubValue): WriteUnit {
  return mapChanged(unit, (statement) => {
    const { args, each } = statement;
    const values = args && mapChanged(args, scrub);
    const rows = each && mapChanged(each.rows, (row) => mapChanged(row, scrub));
    if (values === args && rows === each?.rows) return statement;
    return { ...statement, ...(values && { args: values }), ...(rows && { each: { ...each!, rows } }) };
  });
}

/** Maps items; returns the same array if no item changes, which is nearly always so. */
function mapChanged<T>(items: readonly T[], map: (item: T) => T): readonly T[] {
  let mapped: T[] | undefined;
  for (let index = 0; index < items.length; index++) {
    const item = map(items[index]!);
    if (item !== items[index]) (mapped ??= [...items])[index] = item;
  }
  return mapped ?? items;
}

/** Returns the units of a group: its own, and one for each set of items. */
function toParts(group: readonly Waiting[]): Part[] {
  const sets = new Map<unknown, Waiting[]>();
  const parts: (Part | Waiting[])[] = [];
  for (const waiting of group) {
    const { work } = waiting;
    if ("unit" in work) {
      parts.push({ unit: work.unit, resolve: waiting.resolve });
      continue;
    }
    const set = sets.get(work.writer);
    if (set) set.push(waiting);
    else {
      const first = [waiting];
      sets.set(work.writer, first);
      parts.push(first);
    }
  }
  return parts.map((part) => (Array.isArray(part) ? toSetPart(part) : part));
}

function toSetPart(set: readonly Waiting[]): Part {
  const { writer } = set[0]!.work as { writer: SetWriter<unknown, unknown> };
  const { statements, read } = writer.plan(set.map(({ work }) => (work as { item: unknown }).item));
  return {
    unit: statements,
    resolve(results) {
      try {
        const each = read(results);
        set.forEach((waiting, index) => waiting.resolve(each[index]));
      } catch (error) {
        for (const waiting of set) waiting.reject(error); // although it is committed
      }
    },
  };
}

/**
 * Returns whether the database refused the unit. An unreachable database may have committed it nevertheless, and retrying each
 * unit would wait for it again.
 */
function isRefusal(error: unknown): boolean {
  return !(error instanceof PurserError && error.code === "unavailable");
}

function mayLose({ work }: Waiting): boolean {
  return !("unit" in work) && work.writer.mayLose?.(work.item) === true;
}

function isLong({ work }: Waiting): boolean {
  return !("unit" in work) && work.writer.isLong?.(work.item) === true;
}

function isGivenUp({ deadline }: Waiting): boolean {
  return deadline?.signal.aborted === true;
}

/** Returns the latest deadline of a group. */
function lastOf(group: readonly Waiting[]): number {
  return Math.max(...group.map(({ deadline }) => deadline?.until ?? Infinity));
}
