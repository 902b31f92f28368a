import assert from "node:assert/strict";
import { CLUSTER_FAULTS } from "./faults.ts";
import { openScene } from "./failover_scene.ts";
import { patroniMissing, startCluster } from "./patroni_cluster.ts";

/**
 * The faults that the gate has time for, once each; `deno task failover` makes all of them, many times. The kill is the last: it
 * takes a cluster longest to be whole again.
 */
const IN_GATE = ["switchover", "kill"].map((fault) => CLUSTER_FAULTS.find(({ name }) => name === fault)!);

/** A tenth of the load of `deno task failover`: other tests need the processors. */
const LOAD = { pauseMs: 500, clients: { gateway: 4, reports: 2, runs: 2, capped: 3 } };

Deno.test({
  name:
    "four servers lose and double no call, and pass no strict budget, when the leader of their PostgreSQL changes",
  ignore: patroniMissing !== undefined && Deno.env.get("PURSER_REQUIRE_ALL") !== "1",
  async fn() {
    await using cluster = await startCluster();
    await using scene = await openScene(cluster.urlOf("postgres"), LOAD);
    for (const [index, fault] of IN_GATE.entries()) {
      if (index > 0) await cluster.whole();
      const leader = await cluster.leader();
      await scene.untilBooked();
      await fault.inject(cluster, leader);
      await scene.untilBooked();
      assert.notEqual((await cluster.leader()).name, leader.name, fault.name);
      await scene.nextBudget();
      await fault.repair(cluster, leader);
    }
    await scene.untilBooked();
    const { acknowledged, calls, ...faults } = await scene.check();
    assert.ok(acknowledged > 0 && calls >= acknowledged, `${acknowledged} acknowledged, ${calls} booked`);
    assert.deepEqual(faults, { lost: 0, doubled: 0, overshotNanoUsd: 0n, alertsTwice: 0 });
  },
});
