import type { CallTotals } from "./call_totals.ts";
import { payloadOf, readText } from "./replay_event.ts";
import type { ReplayStep } from "./replay_steps.ts";

/** A run as its events in a log show it. */
export interface TrackedRun {
  runId: string;
  model: string | undefined;
  /** `running` until the log has its end. */
  status: string;
  startedAt: string | null;
  endedAt: string | null;
  /** The seq of its first event; null in imported history. */
  firstSeq: number | null;
  totals: CallTotals;
}

/** Collects the runs of a log, in the order of their first events. */
export class RunTracker {
  readonly runs: TrackedRun[] = [];
  readonly #byId = new Map<string, TrackedRun>();
  #before: CallTotals | undefined;

  /** Adds the next step. The cost of a run is exact: the growth of the log's totals during its steps. */
  add({ event, soFar }: ReplayStep): void {
    const before = this.#before;
    this.#before = soFar;
    if (event.run_id === null || event.imported_from !== undefined) return;
    const run = this.#byId.get(event.run_id) ?? this.#start(event.run_id, event);
    if (before !== soFar) run.totals = grow(run.totals, soFar, before);
    if (event.type === "run.started") run.model = readText(payloadOf(event).model);
    const status = END_STATUS[event.type];
    if (status !== undefined) {
      run.status = status;
      run.endedAt = event.at;
    }
  }

  #start(runId: string, { at, seq }: ReplayStep["event"]): TrackedRun {
    const run: TrackedRun = {
      runId,
      model: undefined,
      status: "running",
      startedAt: at,
      endedAt: null,
      firstSeq: seq,
      totals: NOTHING,
    };
    this.#byId.set(runId, run);
    this.runs.push(run);
    return run;
  }
}

/** The status of a run after the event that ends it. */
const END_STATUS: Readonly<Record<string, string | undefined>> = {
  "run.completed": "completed",
  "run.failed": "failed",
  "run.cancelled": "cancelled",
  "run.interrupted": "interrupted",
  "budget.exceeded": "budget_exceeded",
};

const NOTHING: CallTotals = {
  costNanoUsd: 0n,
  inputTokens: 0,
  outputTokens: 0,
  calls: 0,
  unpricedCalls: 0,
  partlyPricedCalls: 0,
};

function grow(totals: CallTotals, now: CallTotals, before: CallTotals = NOTHING): CallTotals {
  return {
    costNanoUsd: totals.costNanoUsd + now.costNanoUsd - before.costNanoUsd,
    inputTokens: totals.inputTokens + now.inputTokens - before.inputTokens,
    outputTokens: totals.outputTokens + now.outputTokens - before.outputTokens,
    calls: totals.calls + now.calls - before.calls,
    unpricedCalls: totals.unpricedCalls + now.unpricedCalls - before.unpricedCalls,
    partlyPricedCalls: totals.partlyPricedCalls + now.partlyPricedCalls - before.partlyPricedCalls,
  };
}
