/** The cost of budgets: a step of a run, a metered call and many at once, with none, with 5 that match, and with 100,000 more. */
import { type ComparedRow, type Figure, measureInTurn, openWorkers, reportVersions } from "./compare.ts";
import { ms } from "./measure.ts";

const STEPS = 20;
const AT_ONCE = 64;
const COUNTS = [0, 5, 100_005];

await using workers = await openWorkers("budgets", { counts: COUNTS, steps: STEPS, atOnce: AT_ONCE });
const plan = Object.fromEntries(COUNTS.flatMap((count) => [
  [`run${count}`, { times: 4, calls: STEPS }],
  [`call${count}`, { times: 25 }],
  [`atOnce${count}`, { times: 2, calls: AT_ONCE }],
]));
const figures = await measureInTurn(workers.list, plan, { rounds: 30 });
const row = (name: string, read: (figure: (typeof figures)[number]) => Figure): ComparedRow => ({
  name,
  figures: figures.map(read),
  format: ms,
});
reportVersions("Budgets, local file, synchronous=NORMAL: medians (means)", [
  ...COUNTS.map((count) =>
    row(`step of a ${STEPS}-step run, ${count} budgets`, (figure) => figure[`run${count}`]!)
  ),
  ...COUNTS.map((count) => row(`metered call, ${count} budgets`, (figure) => figure[`call${count}`]!)),
  ...COUNTS.map((count) =>
    row(`metered call, ${AT_ONCE} at once, ${count} budgets`, (figure) => figure[`atOnce${count}`]!)
  ),
]);
