/**
 * Calls per second through 1 and 4 servers on one database: sqld in its strong durability mode, PostgreSQL, PostgreSQL with a
 * synchronous standby, and a file. Real processes, one and 100 calls a request, and the imports of ten machines. Measured in
 * turn, several rounds, so that a machine that changes its speed changes all. With `--against DIR`, sqld and the file through
 * another checkout too.
 */
import { patroniMissing, startCluster } from "../tests/failover/patroni_cluster.ts";
import { postgresMissing, startPostgres } from "../tests/harness/postgres.ts";
import { startSqld } from "../tests/harness/sqld.ts";
import { median, report } from "./measure.ts";
import { type Server, startServer } from "./start_server.ts";
import { readVersions } from "./versions.ts";

const SIZES = [1, 4];
const ROUNDS = 5;
const ROUND_MS = 1_000;
/** Few requests in flight wait for each commit, many share one; calls of one report share their sums too. */
const LOADS = [
  { path: "/costs/events", clients: 4, batch: 1, body: reports },
  { path: "/costs/events", clients: 64, batch: 1, body: reports },
  { path: "/costs/events", clients: 64, batch: 100, body: reports },
  { path: "/sightings", clients: 10, batch: 850, body: sightings },
];

await using stack = new AsyncDisposableStack();

/** Databases by their names, and whether only this version can use them. */
const databases: [name: string, isNew: boolean, open: () => Promise<string>][] = [
  ["sqld (strong)", false, async () => stack.use(await startSqld({ durability: "strong" })).url],
  ["a file", false, async () => {
    const folder = await Deno.makeTempDir();
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    return `${folder}/books.db`;
  }],
];
if (postgresMissing === undefined) {
  const flushed = ["fsync=on", "full_page_writes=on", "autovacuum=on", "shared_buffers=128MB"];
  databases.push(["PostgreSQL", true, async () => stack.use(await startPostgres(flushed)).urlOf("postgres")]);
}
if (patroniMissing === undefined) {
  databases.push([
    "PostgreSQL, synchronous standby",
    true,
    async () => stack.use(await startCluster()).urlOf("postgres"),
  ]);
}

const fleets: { name: string; servers: Server[] }[] = [];
for (const version of readVersions()) {
  for (const [name, isNew, open] of databases) {
    if (isNew && version.label === "before") continue;
    const db = await open();
    const servers: Server[] = [];
    for (let size = 0; size < Math.max(...SIZES); size++) {
      servers.push(stack.use(await startServer(version, db)));
    }
    fleets.push({ name: readVersions().length > 1 ? `${name}, ${version.label}` : name, servers });
  }
}

let calls = 0;

function reports(client: number, batch: number) {
  return Array.from({ length: batch }, () => ({
    ...{ call_id: `call-${calls++}`, at: new Date().toISOString(), agent_id: `agent-${client % 20}` },
    ...{ provider: "openai", model: "gpt-4o-mini", input_tokens: 1_000, output_tokens: 100 },
    ...{ session_id: `session-${client}`, run_id: `run-${client}` },
  }));
}

/** The calls of Claude Code on a machine, as `purser import` sends them. */
function sightings(client: number, batch: number) {
  const machine = `laptop-${client}`;
  return {
    origin: { source: "log", name: "claude-code", machine, agent_id: "claude-code" },
    sightings: Array.from({ length: batch }, () => {
      const id = `msg_01${crypto.randomUUID().replaceAll("-", "")}`;
      const part = Math.floor(calls++ / 90);
      const at = new Date(Date.now() - (part % 30) * 86_400_000 - (calls % 90) * 20_000).toISOString();
      const session = `${machine}-${part}`;
      return {
        ...{ ref: id, response_id: id, request_id: `req_${id}`, model: "claude-sonnet-5", at, session },
        ...{ input_tokens: 40_000, cache_read_tokens: 39_000, output_tokens: 500, tools: ["Bash"] },
        ...{ folder: "/home/dev/shop", branch: "main", service_tier: "standard", tags: { project: "shop" } },
      };
    }),
  };
}

type Load = (typeof LOADS)[number];

/** Returns the number of calls booked per second. */
async function load(
  servers: readonly Server[],
  { path, clients, batch, body }: Load,
  milliseconds: number,
) {
  const start = performance.now();
  let booked = 0;
  await Promise.all(Array.from({ length: clients }, async (_, client) => {
    while (performance.now() - start < milliseconds) {
      const response = await fetch(servers[client % servers.length]!.url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body(client, batch)),
      });
      const answer = await response.text();
      if (!response.ok) throw new Error(`${response.status} ${answer}`);
      booked += batch;
    }
  }));
  return booked / (performance.now() - start) * 1000;
}

for (const each of LOADS) {
  const rates = fleets.map(() => new Map(SIZES.map((size): [number, number[]] => [size, []])));
  for (let round = -1; round < ROUNDS; round++) {
    for (const size of SIZES) {
      for (const [index, { servers }] of fleets.entries()) {
        const rate = await load(servers.slice(0, size), each, round < 0 ? ROUND_MS / 4 : ROUND_MS);
        if (round >= 0) rates[index]!.get(size)!.push(rate);
      }
    }
  }
  report(
    `POST ${each.path}, calls a request: ${each.batch}, clients: ${each.clients}: calls/s through 1 and 4 servers, medians`,
    fleets.map(({ name }, index) => [
      name,
      SIZES.map((size) => median(rates[index]!.get(size)!).toFixed(0)).join(" and "),
    ]),
  );
}
