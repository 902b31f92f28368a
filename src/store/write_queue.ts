import { PurserError } from "../errors.ts";
import type { ResultSet, Statement } from "./store.ts";

/** What one caller wants committed as a whole. */
export type WriteUnit = readonly Statement[];

/** How long somebody waits for a unit. */
export interface Patience {
  /** When that is over, in the time of a monotonic clock. */
  until: number;
  /** Aborts when it is over. */
  signal: AbortSignal;
}

interface Waiting {
  unit: WriteUnit;
  patience?: Patience;
  resolve(results: ResultSet[]): void;
  reject(error: unknown): void;
}

/** More statements than this do not share a transaction: a batch must not hold the database for long. */
const MAX_STATEMENTS_PER_COMMIT = 4_000;

/**
 * The one way to write. While a commit is under way, units that arrive wait and go into the next one
 * together (group commit).
 */
export class WriteQueue {
  #waiting: Waiting[] = [];
  #isRunning = false;
  #closed: Error | undefined;
  #idle: (() => void)[] = [];

  constructor(
    /**
     * Commits all units in one transaction and returns the results of each, or throws and commits none. After `until`
     * nobody waits for any of them.
     */
    private readonly commit: (
      units: readonly WriteUnit[],
      until: number,
    ) => ResultSet[][] | Promise<ResultSet[][]>,
    /** Runs a task after the work that is ready now, so that callers of this turn share a commit. */
    private readonly defer: (task: () => void) => void,
  ) {}

  /** How many units wait for their commit to begin. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves with the unit's results after they are committed. One that nobody waits for by then is not. */
  push(unit: WriteUnit, patience?: Patience): Promise<ResultSet[]> {
    if (this.#closed) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ unit, patience, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      this.defer(() => void this.#run());
    });
  }

  /** Refuses new units with `reason` and resolves once what waits has been written. */
  async close(reason: Error): Promise<void> {
    this.#closed ??= reason;
    if (this.#isRunning) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      if (group.length === 0) continue;
      try {
        const results = await this.commit(group.map((waiting) => waiting.unit), lastOf(group));
        group.forEach((waiting, index) => waiting.resolve(results[index]!));
      } catch (error) {
        if (group.length > 1 && isRefusal(error)) await this.#commitOneByOne(group);
        else for (const waiting of group) waiting.reject(error);
      }
    }
    this.#isRunning = false;
    for (const wake of this.#idle.splice(0)) wake();
  }

  /** One bad unit must not take its neighbours down with it. */
  async #commitOneByOne(group: readonly Waiting[]): Promise<void> {
    for (const waiting of group) {
      try {
        waiting.resolve((await this.commit([waiting.unit], lastOf([waiting])))[0]!);
      } catch (error) {
        waiting.reject(error);
      }
    }
  }

  #takeGroup(): Waiting[] {
    if (this.#waiting.some(isGivenUp)) {
      for (const { patience, reject } of this.#waiting.filter(isGivenUp)) reject(patience!.signal.reason);
      this.#waiting = this.#waiting.filter((waiting) => !isGivenUp(waiting));
    }
    let statements = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      statements += waiting.unit.length;
      if (count > 0 && statements > MAX_STATEMENTS_PER_COMMIT) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }
}

/**
 * Whether the database said no. One that can't be reached may have committed all the same, and would be
 * waited for once for each unit.
 */
function isRefusal(error: unknown): boolean {
  return !(error instanceof PurserError && error.code === "unavailable");
}

function isGivenUp({ patience }: Waiting): boolean {
  return patience?.signal.aborted === true;
}

/** When the last of a group is no longer waited for. */
function lastOf(group: readonly Waiting[]): number {
  return Math.max(...group.map(({ patience }) => patience?.until ?? Infinity));
}
