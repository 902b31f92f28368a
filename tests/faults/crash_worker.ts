/**
 * A process that runs agents until it is killed or done. It prints a line for every call after its commit,
 * which makes the call acknowledged outside this process.
 *
 * Arguments: the database, the provider's base URL, the first and the last number of the runs.
 */
import { openPurser } from "../../src/mod.ts";

const [db, baseUrl, first, last] = Deno.args as [string, string, string, string];
const RUNS_AT_ONCE = 8;

const purser = await openPurser({
  db,
  env: {},
  providers: { fake: { baseUrl } },
  prices: [{ provider: "fake", model: "steps", input_usd_per_million: 0.37, output_usd_per_million: 1.9 }],
});

const encoder = new TextEncoder();
const print = (line: unknown) => void Deno.stdout.writeSync(encoder.encode(JSON.stringify(line) + "\n"));
purser.bus.subscribe((event) => {
  if (event.type === "cost.recorded") print({ call: event.payload });
});

let next = Number(first);
async function work(): Promise<void> {
  while (next <= Number(last)) {
    const number = next++;
    print({ started: number });
    const agent = { name: `agent-${number % 5}`, model: "fake:steps", tools: ["calculator"], max_steps: 20 };
    const { status, steps } = await purser.runAgent(agent, `run ${number}`);
    print({ ended: number, status, steps });
  }
}
await Promise.all(Array.from({ length: RUNS_AT_ONCE }, work));
await purser.close();
print({ done: true });
