/** `GET /costs` on ledgers of growing size: every grouping, over all time and over a span that cuts hours. */
import { createApp } from "../src/http/api.ts";
import { openCore } from "../src/core.ts";
import { DAYS, fillLedger } from "./fill_ledger.ts";
import { report, timeInTurn } from "./measure.ts";

const SIZES = [10_000, 100_000, 1_000_000];
const END = Date.parse("2026-11-20T12:34:56.789Z");

const directory = await Deno.makeTempDir();
const core = await openCore({
  config: {
    dbUrl: `${directory}/bench.db`,
    durability: "normal",
    environment: "bench",
    remoteTimeoutMs: 10_000,
    maxBodyBytes: 1_000_000,
  },
});
const app = createApp(core);
const get = async (query: string) => {
  const response = await app.request(`/costs?${query}`);
  if (response.status !== 200) throw new Error(await response.text());
  return await response.json();
};

const span = "from=2026-09-03T04:05:06.007Z&to=2026-11-19T17:18:19.020Z";
const queries = {
  "by agent": "group_by=agent",
  "by model": "group_by=model",
  "by hour (page of 100)": "group_by=hour",
  "by day": "group_by=day",
  "by session (page of 100)": "group_by=session",
  "by run (page of 100)": "group_by=run",
  "by agent, 77 days to the millisecond": `group_by=agent&${span}`,
  "by model, 77 days to the millisecond": `group_by=model&${span}`,
  "by hour, 77 days to the millisecond": `group_by=hour&${span}`,
  "by day, 77 days to the millisecond": `group_by=day&${span}`,
};
const columns: Record<string, number>[] = [];
let rows = 0;
for (const size of SIZES) {
  await fillLedger(core, { rows, size, end: END });
  rows = size;
  const tasks = Object.fromEntries(Object.entries(queries).map(([name, query]) => [name, () => get(query)]));
  columns.push(await timeInTurn(tasks, { runs: 15 }));
}
report(
  `GET /costs, medians; ledgers of ${
    SIZES.map((size) => size.toLocaleString("en")).join(", ")
  } calls of 20 agents and 8 models over ${DAYS} days`,
  Object.keys(queries).map((
    name,
  ) => [name, columns.map((column) => `${column[name]!.toFixed(1).padStart(7)} ms`).join("")]),
);
await core.close();
await Deno.remove(directory, { recursive: true });
