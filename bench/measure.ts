/** Returns the median of many measurements, which a noisy machine disturbs least. */
export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

/** Times tasks in turn, A B A B …, so that a machine that changes its speed changes all; milliseconds. */
export async function timeInTurn<Name extends string>(
  tasks: Record<Name, () => Promise<unknown> | unknown>,
  { runs, warmUp = Math.ceil(runs / 5) }: { runs: number; warmUp?: number },
): Promise<Record<Name, number>> {
  const times = Object.fromEntries(Object.keys(tasks).map((name) => [name, []])) as unknown as Record<
    Name,
    number[]
  >;
  for (let run = -warmUp; run < runs; run++) {
    for (const name of Object.keys(tasks) as Name[]) {
      const start = performance.now();
      await tasks[name]();
      if (run >= 0) times[name].push(performance.now() - start);
    }
  }
  return Object.fromEntries(Object.keys(tasks).map((name) => [name, median(times[name as Name])])) as Record<
    Name,
    number
  >;
}

/** Prints a table: a title, then a line per figure. */
export function report(title: string, figures: [name: string, value: string][]): void {
  console.log(`\n${title}`);
  const width = Math.max(...figures.map(([name]) => name.length));
  for (const [name, value] of figures) console.log(`  ${name.padEnd(width)}  ${value}`);
}

export const ms = (value: number) => `${value.toFixed(3)} ms`;
export const us = (value: number) => `${(value * 1000).toFixed(0)} us`;
export const ratio = (a: number, b: number) => `${(a / b).toFixed(2)}x`;
