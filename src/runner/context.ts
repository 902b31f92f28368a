import type { BookingContext } from "../booking/mod.ts";
import type { ModelResolver } from "./models/models.ts";
import type { Toolbox } from "./tools/toolbox.ts";

/** What running agents needs of the process. */
export interface RunnerContext extends BookingContext {
  models: ModelResolver;
  toolbox: Toolbox;
  /** The runs of this process, by id. */
  liveRuns: Map<string, LiveRun>;
  /** Takes the runs whose end could not be written; without it they are left to recovery. */
  unfinishedRuns?: { add(runId: string): void };
  /** Aborts when the process is about to end: no run begins after that. */
  stopping?: AbortSignal;
}

/** A run in this process. */
export interface LiveRun {
  cancel(reason: string): void;
  ended: Promise<void>;
}
