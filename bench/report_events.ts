/**
 * Booked events per second through `POST /costs/events`, 1,000 a request, over a socket on loopback, beside a bare bulk
 * insert of the same rows into one table with the ledger's columns and indexes.
 */
import { measureInTurn, openWorkers, ratioOf, reportVersions } from "./compare.ts";
import { ms } from "./measure.ts";

const BATCH = 1_000;
const ROUNDS = 100;
const WARM_UP = 10;

const TASK = { times: 1 };
const KINDS = { loose: "without a session", sessions: "in 50 sessions and 100 runs" } as const;
const BARE = { loose: "bareLoose", sessions: "bareSessions" } as const;

for (const storage of ["full", "normal"]) {
  const options = { storage, batch: BATCH, requests: ROUNDS + WARM_UP };
  await using workers = await openWorkers("report_events", options);
  const plan = { loose: TASK, bareLoose: TASK, sessions: TASK, bareSessions: TASK };
  const figures = await measureInTurn(workers.list, plan, { rounds: ROUNDS, warmUp: WARM_UP });
  const rows = (["loose", "sessions"] as const).flatMap((kind) => [
    {
      name: `${KINDS[kind]}: events/s`,
      figures: figures.map((each) => ({ median: BATCH / each[kind].median * 1000 })),
      format: (value: number) => value.toFixed(0),
    },
    { name: "  a request", figures: figures.map((each) => each[kind]), format: ms },
    {
      name: "  the same rows, bare bulk insert",
      figures: figures.map((each) => each[BARE[kind]]),
      format: ms,
    },
    {
      name: "  beside the bare insert",
      figures: figures.map((each) => ratioOf(each[kind], each[BARE[kind]])),
      format: (value: number) => `${value.toFixed(2)}x`,
    },
  ]);
  reportVersions(
    `POST /costs/events, ${BATCH} events a request, one request at a time, local file, synchronous=${storage.toUpperCase()}: ` +
      "medians (means)",
    rows,
  );
}
