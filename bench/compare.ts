import { fileURLToPath } from "node:url";
import { TextLineStream } from "../tests/harness/text_lines.ts";
import { median } from "./measure.ts";
import type { Answer, Order } from "./subject.ts";
import { libraryOf, readVersions, runArgs, type Version } from "./versions.ts";

const WORKER = fileURLToPath(new URL("worker.ts", import.meta.url));

/** A process that measures one version. */
export interface Worker extends AsyncDisposable {
  readonly version: Version;
  order(order: Order): Promise<Answer>;
}

/** Milliseconds, or another unit of the benchmark. */
export interface Figure {
  median: number;
  /** Includes rare work such as a checkpoint or a roll-up, which a median leaves out. */
  mean?: number;
}

/** The number of repetitions of a task in each round. */
export interface Repetition {
  times: number;
  /** The number of calls in one repetition; the figures are per call. Default: 1. */
  calls?: number;
}

/** Workers for one subject, one of each version. */
export interface Workers extends AsyncDisposable {
  readonly list: readonly Worker[];
}

/** Starts a worker of each version on a subject. */
export async function openWorkers(subject: string, options: unknown = {}): Promise<Workers> {
  const list: Worker[] = [];
  for (const version of readVersions()) list.push(await startWorker(version, subject, options));
  return {
    list,
    async [Symbol.asyncDispose]() {
      for (const worker of list) await worker[Symbol.asyncDispose]();
    },
  };
}

async function startWorker(version: Version, subject: string, options: unknown): Promise<Worker> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...runArgs(version, WORKER), subject, libraryOf(version), JSON.stringify(options)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const orders = child.stdin.getWriter();
  const answers = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    .getReader();
  const next = async (): Promise<Answer> => {
    const { value, done } = await answers.read();
    if (done) throw new Error(`The worker of ${version.root} on ${subject} has ended`);
    return JSON.parse(value);
  };
  await next();
  return {
    version,
    async order(order) {
      await orders.write(new TextEncoder().encode(`${JSON.stringify(order)}\n`));
      return await next();
    },
    async [Symbol.asyncDispose]() {
      await orders.close().catch(() => {}); // it has failed and printed the reason
      await answers.cancel();
      await child.status;
    },
  };
}

/**
 * Times tasks of all workers in turn, task by task and version by version, each time in the other order, so that a
 * machine that changes its speed changes all. Returns the figures of each worker.
 */
export async function measureInTurn<Name extends string>(
  workers: readonly Worker[],
  plan: Record<Name, Repetition>,
  { rounds, warmUp = Math.ceil(rounds / 10) }: { rounds: number; warmUp?: number },
): Promise<Record<Name, Figure>[]> {
  const names = Object.keys(plan) as Name[];
  const taken = workers.map(() => new Map(names.map((name) => [name, { each: [] as number[], total: 0 }])));
  for (let round = -warmUp; round < rounds; round++) {
    for (const name of names) {
      const { times, calls = 1 } = plan[name];
      const order = [...workers.keys()];
      for (const index of round % 2 === 0 ? order : order.reverse()) {
        const { each, total } = await workers[index]!.order({ task: name, times });
        if (round < 0) continue;
        const sum = taken[index]!.get(name)!;
        for (const time of each) sum.each.push(time / calls);
        sum.total += total / calls;
      }
    }
  }
  return taken.map((sums) => {
    const figures = names.map((name): [Name, Figure] => {
      const { each, total } = sums.get(name)!;
      return [name, { median: median(each), mean: total / each.length }];
    });
    return Object.fromEntries(figures) as Record<Name, Figure>;
  });
}

/** Gives all workers an order, one after the other, and returns what their tasks returned. */
export async function askInTurn(
  workers: readonly Worker[],
  task: string,
  input?: unknown,
): Promise<(number | undefined)[]> {
  const values: (number | undefined)[] = [];
  for (const worker of workers) values.push((await worker.order({ task, times: 1, input })).value);
  return values;
}

/** Gives all workers an order at the same time: for preparations, which are not measured. */
export async function askAtOnce(workers: readonly Worker[], task: string, input?: unknown): Promise<void> {
  await Promise.all(workers.map((worker) => worker.order({ task, times: 1, input })));
}

/** Returns what one figure is over another. */
export function over(figure: Figure, ...floors: Figure[]): Figure {
  return floors.reduce((left, floor) => ({
    median: left.median - floor.median,
    ...(left.mean !== undefined && floor.mean !== undefined && { mean: left.mean - floor.mean }),
  }), figure);
}

/** Returns how many times one figure another is. */
export function ratioOf(figure: Figure, base: Figure): Figure {
  return {
    median: figure.median / base.median,
    ...(figure.mean !== undefined && base.mean !== undefined && { mean: figure.mean / base.mean }),
  };
}

/** A line of a table of versions. */
export interface ComparedRow {
  name: string;
  /** In the order of the versions. */
  figures: readonly Figure[];
  format: (value: number) => string;
}

/** Prints a table with a column for each version and, where there are two, their ratio. */
export function reportVersions(title: string, rows: readonly ComparedRow[]): void {
  const labels: string[] = readVersions().map(({ label }) => label);
  const isCompared = labels.length > 1;
  const lines = [["", ...labels, ...(isCompared ? ["now/before"] : [])]];
  for (const { name, figures, format } of rows) {
    const cells = figures.map(({ median, mean }) =>
      mean === undefined ? format(median) : `${format(median)} (${format(mean)})`
    );
    const [before, now] = figures;
    if (isCompared) cells.push(`${(now!.median / before!.median).toFixed(2)}x`);
    lines.push([name, ...cells]);
  }
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  console.log(`\n${title}`);
  for (const line of lines) {
    const cells = line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)
    );
    console.log(`  ${cells.join("  ")}`.trimEnd());
  }
}
