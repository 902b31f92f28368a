/**
 * `deno task failover [--times N] [--kind NAME] [--verbose]`: three PostgreSQL servers under Patroni, four Purser servers under
 * load, and each kind of fault of the leader N times. Prints what was lost, doubled or overshot, and the times until bookings
 * went on.
 */
import { parseArgs } from "node:util";
import { CLUSTER_FAULTS, type ClusterFault } from "./faults.ts";
import { openScene } from "./failover_scene.ts";
import { startCluster } from "./patroni_cluster.ts";

const { values } = parseArgs({
  options: {
    times: { type: "string", default: "50" },
    kind: { type: "string", default: "" },
    verbose: { type: "boolean", default: false },
  },
});
const times = Number(values.times);
const faults = CLUSTER_FAULTS.filter(({ name }) => name.includes(values.kind));
if (faults.length === 0 || !(times > 0)) {
  throw new Error(
    `Cannot begin: --times is a number, --kind one of ${CLUSTER_FAULTS.map(({ name }) => name)}`,
  );
}

/** The pause of a client after a call. */
const PAUSE_MS = 100;

/** The load before each fault. */
const BEFORE_MS = 2_000;

for (const fault of faults) {
  if (fault.needs !== undefined && Deno.uid() !== 0) {
    console.log(`${fault.name}: skipped, since only root can make it`);
    continue;
  }
  await play(fault);
}

async function play(fault: ClusterFault): Promise<void> {
  await using cluster = await startCluster(fault.needs && { [fault.needs]: true });
  await using scene = await openScene(cluster.urlOf("postgres"), { pauseMs: PAUSE_MS });
  const waits: number[] = [];
  for (let time = 0; time < times; time++) {
    await scene.nextBudget();
    await new Promise((resolve) => setTimeout(resolve, BEFORE_MS));
    const leader = await cluster.leader();
    await fault.inject(cluster, leader);
    const booked = scene.untilBooked();
    if (fault.repairedAfterMs !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, fault.repairedAfterMs));
      await fault.repair(cluster, leader);
    }
    waits.push(await booked);
    await cluster.leader();
    if (fault.repairedAfterMs === undefined) await fault.repair(cluster, leader);
    await cluster.whole();
    if (values.verbose) console.log(`${fault.name} ${time + 1}: ${(waits.at(-1)! / 1_000).toFixed(1)} s`);
  }
  const counts = await scene.check();
  waits.sort((one, other) => one - other);
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  console.log(
    `${fault.name}, ${times} times: ${counts.acknowledged} acknowledged, ${counts.lost} lost, ${counts.doubled} doubled, ` +
      `${counts.overshotNanoUsd} nano-USD overshot, ${counts.alertsTwice} alerts twice; bookings went on after ` +
      `${seconds(waits[Math.floor(waits.length / 2)]!)} (longest ${seconds(waits.at(-1)!)})`,
  );
  if (counts.lost + counts.doubled + counts.alertsTwice > 0 || counts.overshotNanoUsd > 0n) Deno.exitCode = 1;
}
