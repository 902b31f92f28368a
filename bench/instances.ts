/**
 * Calls per second through 1 and 4 servers on one libSQL server in its strong durability mode: real processes, one and
 * 100 calls a request. Measured in turn, several rounds, so that a machine that changes its speed changes all.
 */
import { startSqld } from "../tests/harness/sqld.ts";
import { reportVersions } from "./compare.ts";
import { median } from "./measure.ts";
import { type Server, startServer } from "./start_server.ts";
import { readVersions } from "./versions.ts";

const SIZES = [1, 4];
const ROUNDS = 5;
const ROUND_MS = 1_500;
/** Few requests in flight wait for each commit, many share one; calls of one report share their sums too. */
const LOADS = [{ clients: 4, batch: 1 }, { clients: 64, batch: 1 }, { clients: 16, batch: 100 }, {
  clients: 64,
  batch: 100,
}];

const versions = readVersions();
await using stack = new AsyncDisposableStack();
const fleets: Server[][] = [];
for (const version of versions) {
  const { url } = stack.use(await startSqld({ durability: "strong" }));
  const fleet: Server[] = [];
  for (let size = 0; size < Math.max(...SIZES); size++) {
    fleet.push(stack.use(await startServer(version, url)));
  }
  fleets.push(fleet);
}

let calls = 0;
const body = (client: number, batch: number) =>
  JSON.stringify(Array.from({ length: batch }, () => ({
    ...{ call_id: `call-${calls++}`, at: new Date().toISOString(), agent_id: `agent-${client % 20}` },
    ...{ provider: "openai", model: "gpt-4o-mini", input_tokens: 1_000, output_tokens: 100 },
    ...{ session_id: `session-${client}`, run_id: `run-${client}` },
  })));

type Load = (typeof LOADS)[number];

/** Returns the number of calls booked per second. */
async function load(servers: readonly Server[], { clients, batch }: Load, milliseconds: number) {
  const start = performance.now();
  let booked = 0;
  await Promise.all(Array.from({ length: clients }, async (_, client) => {
    while (performance.now() - start < milliseconds) {
      const response = await fetch(`${servers[client % servers.length]!.url}/costs/events`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: body(client, batch),
      });
      const answer = await response.text();
      if (response.status !== 201) throw new Error(`${response.status} ${answer}`);
      booked += batch;
    }
  }));
  return booked / (performance.now() - start) * 1000;
}

for (const each of LOADS) {
  const rates = versions.map(() => new Map(SIZES.map((size): [number, number[]] => [size, []])));
  for (let round = -1; round < ROUNDS; round++) {
    for (const size of SIZES) {
      for (const [version, fleet] of fleets.entries()) {
        const rate = await load(fleet.slice(0, size), each, round < 0 ? ROUND_MS / 4 : ROUND_MS);
        if (round >= 0) rates[version]!.get(size)!.push(rate);
      }
    }
  }
  const medians = rates.map((sizes) => SIZES.map((size) => median(sizes.get(size)!)));
  reportVersions(
    `POST /costs/events, calls a request: ${each.batch}, clients: ${each.clients}, one sqld (strong): calls/s, medians`,
    [
      ...SIZES.map((size, index) => ({
        name: `${size} ${size === 1 ? "server" : "servers"}`,
        figures: medians.map((rates) => ({ median: rates[index]! })),
        format: (rate: number) => rate.toFixed(0),
      })),
      {
        name: "  4 servers beside 1",
        figures: medians.map(([one, four]) => ({ median: four! / one! })),
        format: (value: number) => `${value.toFixed(2)}x`,
      },
    ],
  );
}
