/** The library of the version that a worker measures. */
export type Library = typeof import("../src/mod.ts");

/** Something that can be repeated; what it returns is answered to the parent where it is a number. */
// deno-lint-ignore no-explicit-any -- JSON from the parent, of the task's own type
export type Task = (input: any) => unknown;

/** What a module in `subjects/` opens: the tasks of one benchmark, by one version's public API alone. */
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
  /** What each repetition took. */
  each: number[];
  /** What all of them took, with what ran between them. */
  total: number;
  /** What the last one returned, where it is a number. */
  value?: number;
}
