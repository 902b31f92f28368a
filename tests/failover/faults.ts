import type { Member, PatroniCluster } from "./patroni_cluster.ts";

/** A fault of the leader, and its repair once another one leads. */
export interface ClusterFault {
  name: string;
  /** The cluster must be started with it; only root can. */
  needs?: "hasNetworks" | "hasSmallDisks";
  /** The time after which it is repaired, in ms, where no other member takes over; otherwise that happens once one has. */
  repairedAfterMs?: number;
  inject(cluster: PatroniCluster, leader: Member): Promise<void>;
  repair(cluster: PatroniCluster, member: Member): Promise<void> | void;
}

/** The faults that a cluster must survive without a lost call. */
export const CLUSTER_FAULTS: readonly ClusterFault[] = [
  {
    name: "kill",
    inject: (cluster, leader) => cluster.signal(leader, "SIGKILL"),
    repair: (cluster, member) => cluster.start(member),
  },
  {
    name: "stop",
    inject: (cluster, leader) => cluster.signal(leader, "SIGSTOP"),
    repair: (cluster, member) => cluster.signal(member, "SIGCONT"),
  },
  { name: "switchover", inject: (cluster) => cluster.switchover(), repair: () => {} },
  {
    name: "partition",
    needs: "hasNetworks",
    inject: (cluster, leader) => cluster.cut(leader, true),
    repair: (cluster, member) => cluster.cut(member, false),
  },
  {
    // Patroni 3.0 leaves the lead with the member, whose server ends, until there is room again.
    name: "full disk",
    needs: "hasSmallDisks",
    repairedAfterMs: 10_000,
    inject: (cluster, leader) => cluster.fill(leader, true),
    repair: (cluster, member) => cluster.fill(member, false),
  },
];
