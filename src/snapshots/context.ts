import type { Bus } from "../bus/mod.ts";
import type { Log } from "../kernel/log.ts";
import type { SessionContext } from "../sessions/mod.ts";
import type { GenerationsInUse } from "./generations/sweep_generations.ts";
import type { SpoolOptions } from "./files/spool.ts";

/** What snapshots need of the process they are taken and restored in. */
export interface SnapshotContext extends SessionContext {
  bus: Bus;
  log: Log;
  /** The name of this environment. */
  environment: string;
  /** The largest snapshot that is read, uncompressed. */
  maxSnapshotBytes: number;
  /** Where a snapshot stays until all of it is checked, if not in a temporary file. */
  spool?: SpoolOptions;
  generationsInUse: GenerationsInUse;
  /** The runs of this process: one whose session is replaced is told at once. */
  liveRuns: ReadonlyMap<string, { cancel(reason: string): void }>;
}
