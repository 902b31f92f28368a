/**
 * Measures one version of Purser in short rounds, on orders from its standard input. The parent starts one for each
 * version, with that version's dependencies: worker.ts SUBJECT LIBRARY_URL OPTIONS_JSON
 */
import { TextLineStream } from "../tests/harness/text_lines.ts";
import type { Answer, Order, Subject } from "./subject.ts";

const [name, library, options] = Deno.args as [string, string, string];
// Standard output is for answers.
console.log = console.info = console.debug = console.error;

const { open } = await import(`./subjects/${name}.ts`);
const subject: Subject = await open(await import(library), JSON.parse(options));
answer({ each: [], total: 0 });

const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
for await (const line of lines) answer(await repeat(JSON.parse(line)));
await subject.close();
Deno.exit(0);

async function repeat({ task: name, times, input }: Order): Promise<Answer> {
  const task = subject.tasks[name];
  if (!task) throw new Error(`There is no task ${name}`);
  const each: number[] = [];
  let value: unknown;
  const start = performance.now();
  for (let time = 0; time < times; time++) {
    const start = performance.now();
    value = task(input as never);
    if (value instanceof Promise) value = await value;
    each.push(performance.now() - start);
  }
  return { each, total: performance.now() - start, ...(typeof value === "number" && { value }) };
}

function answer(answer: Answer): void {
  const bytes = new TextEncoder().encode(`${JSON.stringify(answer)}\n`);
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}
