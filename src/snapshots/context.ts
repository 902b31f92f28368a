import type { Bus } from "../bus/mod.ts";
import type { Log } from "../kernel/log.ts";
import type { Turns } from "../kernel/turns.ts";
import type { Author } from "../store/mod.ts";
import type { SessionContext } from "../sessions/mod.ts";
import type { GenerationsInUse } from "./generations/sweep_generations.ts";
import type { SpoolOptions } from "./files/spool.ts";

/** The dependencies of exports and imports. */
export interface SnapshotContext extends SessionContext {
  /** Who restores an agent that isn't defined here, for the audit log. */
  author: Author;
  bus: Bus;
  log: Log;
  /** Divides the event loop among long work. */
  turns: Turns;
  /** The name of this environment. */
  environment: string;
  /** The largest snapshot that is imported, uncompressed. */
  maxSnapshotBytes: number;
  /** The longest message and event that is imported, in characters of JSON. */
  maxContextBytes: number;
  /** Holds a snapshot until it is validated, if not a temporary file. */
  spool?: SpoolOptions;
  generationsInUse: GenerationsInUse;
  /** The runs of this process; a run whose session is replaced is cancelled at once. */
  liveRuns: ReadonlyMap<string, { cancel(reason: string): void }>;
}
