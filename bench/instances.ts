/**
 * Calls per second through 1, 2 and 4 servers on one libSQL server in its strong durability mode: real processes, each
 * call in a request of its own. Measured in turn, several rounds, so that a machine that changes its speed changes all.
 */
import { openFleet } from "../tests/harness/instances.ts";
import { startSqld } from "../tests/harness/sqld.ts";
import { median, ratio, report } from "./measure.ts";

const SIZES = [1, 2, 4];
const ROUNDS = 5;
const ROUND_MS = 2_000;
/** Few requests in flight wait for each commit, many share one; what is reported together shares its sums too. */
const LOADS = [{ clients: 4, batch: 1 }, { clients: 64, batch: 1 }, { clients: 16, batch: 100 }];

await using sqld = await startSqld({ durability: "strong" });
await using fleet = await openFleet({ db: sqld.url, log_level: "error" });
const servers = await Promise.all(Array.from({ length: 4 }, (_, index) => fleet.start(`server-${index}`)));

let calls = 0;
const body = (client: number, batch: number) =>
  Array.from({ length: batch }, () => ({
    ...{ call_id: `call-${calls++}`, at: new Date().toISOString(), agent_id: `agent-${client % 20}` },
    ...{ provider: "openai", model: "gpt-4o-mini", input_tokens: 1_000, output_tokens: 100 },
    ...{ session_id: `session-${client}`, run_id: `run-${client}` },
  }));

type Load = (typeof LOADS)[number];

/** Calls that were booked per second. */
async function load(size: number, { clients, batch }: Load, milliseconds: number): Promise<number> {
  const start = performance.now();
  let booked = 0;
  await Promise.all(Array.from({ length: clients }, async (_, client) => {
    while (performance.now() - start < milliseconds) {
      const { status, body: answer } = await servers[client % size]!.send(
        "POST",
        "/costs/events",
        body(client, batch),
      );
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(answer)}`);
      booked += batch;
    }
  }));
  return booked / (performance.now() - start) * 1000;
}

for (const each of LOADS) {
  const rates = new Map(SIZES.map((size): [number, number[]] => [size, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const size of SIZES) {
      const rate = await load(size, each, round < 0 ? ROUND_MS / 4 : ROUND_MS);
      if (round >= 0) rates.get(size)!.push(rate);
    }
  }
  const alone = median(rates.get(1)!);
  report(
    `POST /costs/events, calls a request: ${each.batch}, clients: ${each.clients}, one sqld (strong), medians of ${ROUNDS}`,
    [
      ...SIZES.map((size): [string, string] => {
        const rate = median(rates.get(size)!);
        return [
          `${size} ${size === 1 ? "server" : "servers"}`,
          `${Math.round(rate)} calls/s, ${ratio(rate, alone)}`,
        ];
      }),
    ],
  );
}
