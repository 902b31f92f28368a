import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Query, Store } from "../store/mod.ts";

/** The parts of a process that sessions use. */
export interface SessionContext {
  store: Store;
  query: Query;
  clock: Clock;
  ids: Ids;
  /** This process, as the holder of leases. */
  instanceId: string;
}

/** The ids of a run, of its session and of its agent. */
export interface RunRef {
  sessionId: string;
  runId: string;
  agentId: string;
}
