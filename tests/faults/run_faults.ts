/**
 * `deno task faults [--faults N] [--seed S] [--where file|disk|sqld|postgres] [--kind TEXT]`: makes faults happen to processes at
 * work, and checks the books after each. A seed repeats the kinds of faults, their order and the work; the timing
 * differs.
 */
import { parseArgs } from "node:util";
import { postgresMissing } from "../harness/postgres.ts";
import { reasonAgainstMounting } from "../harness/small_disk.ts";
import { seededRandom } from "../harness/random.ts";
import { sqldMissing } from "../harness/sqld.ts";
import { FAULT_KINDS, type FaultKind } from "./fault_kinds.ts";
import { FaultScene, type SceneCounts, type Where, WHERES } from "./fault_scene.ts";
import { openStage } from "./fault_stage.ts";

/** The most faults of one database, after which the next begins with an empty one. */
const FAULTS_PER_SCENE = 40;

const { values } = parseArgs({
  options: {
    faults: { type: "string", default: "2000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    where: { type: "string" },
    kind: { type: "string" },
  },
});
const total = Number(values.faults);
const firstSeed = Number(values.seed);
const missing: Record<Where, string | undefined> = {
  file: Deno.build.os === "linux" ? undefined : "prlimit is Linux's",
  disk: await reasonAgainstMounting(),
  sqld: sqldMissing,
  postgres: postgresMissing,
};
const kinds = FAULT_KINDS.filter(({ name }) => name.includes(values.kind ?? ""));
const wheres = WHERES.filter((where) =>
  (values.where ?? where) === where && kinds.some((kind) => kind.wheres.includes(where))
);
for (const where of wheres) if (missing[where]) console.log(`skipped on a ${where}: ${missing[where]}`);
const usable = wheres.filter((where) => missing[where] === undefined);
if (usable.length === 0) throw new Error("Cannot make faults: no kind of fault fits; see --kind and --where");

const happened = new Map<string, number>();
const sums: SceneCounts = { calls: 0, acknowledged: 0, billed: 0, alerts: 0, webhooksAgain: 0 };
const perScene = Math.min(FAULTS_PER_SCENE, Math.ceil(total / usable.length));
const startedAt = performance.now();
const stage = await openStage();
let made = 0;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => {
    report();
    void Promise.resolve(stage[Symbol.asyncDispose]()).finally(() => Deno.exit(130));
  });
}
try {
  for (let number = 0; made < total; number++) {
    const seed = firstSeed + number;
    const where = usable[seed % usable.length]!;
    await playScene(where, seed, Math.min(perScene, total - made));
    console.error(`${made} of ${total} faults`);
  }
} finally {
  await stage[Symbol.asyncDispose]();
  report();
}

async function playScene(where: Where, seed: number, count: number): Promise<void> {
  const ofScene = kinds.filter((kind) => kind.wheres.includes(where));
  const random = seededRandom(seed);
  let kind: FaultKind | undefined;
  try {
    await using scene = await FaultScene.open(where, seed, stage);
    for (let fault = 0; fault < count; fault++) {
      await scene.wait();
      kind = choose(ofScene, random());
      await kind.inject(scene);
      made++;
      happened.set(kind.name, (happened.get(kind.name) ?? 0) + 1);
      await scene.check();
    }
    kind = undefined;
    const counts = await scene.end();
    for (const key of Object.keys(sums) as (keyof SceneCounts)[]) sums[key] += counts[key];
  } catch (error) {
    console.error(`after ${kind ? `"${kind.name}"` : "the last fault"} on a ${where}:`);
    const only = values.kind === undefined ? "" : ` --kind "${values.kind}"`;
    console.error(`repeat it: deno task faults --seed ${seed} --faults ${count} --where ${where}${only}`);
    throw error;
  }
}

function choose(among: readonly FaultKind[], random: number): FaultKind {
  let left = random * among.reduce((sum, { weight }) => sum + weight, 0);
  return among.find(({ weight }) => (left -= weight) < 0) ?? among.at(-1)!;
}

function report(): void {
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(`${made} faults in ${seconds} s from seed ${firstSeed}:`);
  for (const [name, count] of [...happened].sort((a, b) => b[1] - a[1])) {
    console.log(`  ${String(count).padStart(5)}  ${name}`);
  }
  console.log(
    `${sums.calls} calls booked, ${sums.acknowledged} acknowledged: 0 lost, 0 doubled; ${sums.billed} billed; ` +
      `${sums.alerts} alerts: 0 lost, ${sums.webhooksAgain} webhooks sent again`,
  );
}
