/**
 * `GET /costs` on ledgers of growing size: every grouping, over all time and over a span that cuts hours; and on the
 * largest with a tail of calls that are booked but not yet in the rollups.
 */
import { askAtOnce, type Figure, measureInTurn, openWorkers, reportVersions } from "./compare.ts";
import { DAYS } from "./fill_ledger.ts";
import { ms } from "./measure.ts";

const SIZES = [10_000, 100_000, 1_000_000];
const TAIL = 2_000;
const DAY_MS = 86_400_000;

const end = Date.now();
const iso = (at: number) => new Date(at).toISOString();
/** 77 days, from and to the middle of an hour. */
const span = `from=${iso(end - 78.1234567 * DAY_MS)}&to=${iso(end - 1.1234567 * DAY_MS)}`;
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

const plan = Object.fromEntries(Object.keys(queries).map((name) => [name, { times: 5 }]));

await using workers = await openWorkers("summaries", { end, days: DAYS, queries });

async function measure(title: string): Promise<void> {
  const figures: Record<string, Figure>[] = await measureInTurn(workers.list, plan, {
    rounds: 10,
    warmUp: 2,
  });
  const rows = Object.keys(queries).map((name) => ({
    name,
    figures: figures.map((each) => each[name]!),
    format: ms,
  }));
  reportVersions(
    `GET /costs, ${title} of 20 agents and 8 models over ${DAYS} days: medians (means)`,
    rows,
  );
}

for (const size of SIZES) {
  await askAtOnce(workers.list, "fill", size);
  await measure(`${size.toLocaleString("en")} calls`);
}
await askAtOnce(workers.list, "addTail", TAIL);
await measure(`${SIZES.at(-1)!.toLocaleString("en")} calls and a tail of ${TAIL.toLocaleString("en")}`);
