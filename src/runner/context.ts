import type { CallContext } from "../calls/mod.ts";
import type { Turns } from "../kernel/turns.ts";
import type { LiveRun, RunEndRetries } from "../sessions/mod.ts";
import type { ModelResolver } from "./models/mod.ts";
import type { Toolbox } from "./tools/mod.ts";

/** The parts of a process that running agents uses. */
export interface RunnerContext extends CallContext {
  models: ModelResolver;
  toolbox: Toolbox;
  /** The runs of this process, by id. */
  liveRuns: Map<string, LiveRun>;
  /** Divides the event loop among long work, such as reading a long session. */
  turns: Turns;
  /** The most bytes of JSON that the messages of a run may have, with those of its session and the results of tools. */
  maxContextBytes: number;
  /** Takes the runs whose end could not be written; without it they are left to recovery. */
  runEndRetries?: Pick<RunEndRetries, "add">;
  /** Aborts when the process is about to end: no run starts after that. */
  stopping?: AbortSignal;
}
