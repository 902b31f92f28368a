/** The library of the version that a worker measures. */
export type Library = typeof import("../src/mod.ts");

/** A task that can be repeated, with JSON of its own type from the parent; a number that it returns is passed to the parent. */
export type Task = (input: never) => unknown;

/** The export of a module in `subjects/`: the tasks of one benchmark, by one version's public API alone. */
export interface Subject {
  tasks: Record<string, Task>;
  close(): Promise<void> | void;
}

/** The parent's order to a worker, one line of JSON. */
export interface Order {
  task: string;
  times: number;
  input?: unknown;
}

/** The answer to an order, one line of JSON; milliseconds. */
export interface Answer {
  /** The duration of each repetition. */
  each: number[];
  /** The duration of all of them, with the work between them. */
  total: number;
  /** The result of the last one, if it is a number. */
  value?: number;
}
