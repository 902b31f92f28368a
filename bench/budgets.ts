/**
 * The cost of budgets: a step of a run, a metered call and many at once, with none, with 5 that match, and with 100,000 more; and
 * with 2 by a tag and of each tree, and 100,000 more by tag, tree, key and agent, beside 100,000 counters of trees.
 */
import { type ComparedRow, type Figure, measureInTurn, openWorkers, reportVersions } from "./compare.ts";
import { ms } from "./measure.ts";

const STEPS = 20;
const AT_ONCE = 64;
const COUNTS = [0, 5, 100_005];
const OF_SUBJECTS = [2, 100_002];
const NAMES = [
  ...COUNTS.map((count) => ({ key: String(count), text: `${count} budgets` })),
  ...OF_SUBJECTS.map((count) => ({
    key: `${count}OfSubjects`,
    text: `${count} budgets by tag, tree, key and agent`,
  })),
];

await using workers = await openWorkers("budgets", {
  counts: COUNTS,
  ofSubjects: OF_SUBJECTS,
  steps: STEPS,
  atOnce: AT_ONCE,
});
const plan = Object.fromEntries(NAMES.flatMap(({ key }) => [
  [`run${key}`, { times: 4, calls: STEPS }],
  [`call${key}`, { times: 25 }],
  [`atOnce${key}`, { times: 2, calls: AT_ONCE }],
]));
const figures = await measureInTurn(workers.list, plan, { rounds: 30 });
const row = (name: string, read: (figure: (typeof figures)[number]) => Figure): ComparedRow => ({
  name,
  figures: figures.map(read),
  format: ms,
});
reportVersions("Budgets, local file, synchronous=NORMAL: medians (means)", [
  ...NAMES.map(({ key, text }) =>
    row(`step of a ${STEPS}-step run, ${text}`, (figure) => figure[`run${key}`]!)
  ),
  ...NAMES.map(({ key, text }) => row(`metered call, ${text}`, (figure) => figure[`call${key}`]!)),
  ...NAMES.map(({ key, text }) =>
    row(`metered call, ${AT_ONCE} at once, ${text}`, (figure) => figure[`atOnce${key}`]!)
  ),
]);
