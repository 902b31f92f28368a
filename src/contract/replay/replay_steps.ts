import { CallCounter, type CallTotals } from "./call_totals.ts";
import { callIdOf, MESSAGE, payloadOf, readText, type ReplayEvent } from "./replay_event.ts";
import { totalUsd } from "./format_totals.ts";

/** One step of a replay. */
export interface ReplayStep {
  event: ReplayEvent;
  /** The `cost.recorded` of the call of a `model.called`. */
  costRecorded?: ReplayEvent;
  /** The new inputs of a model call: the event that started the run, tools that returned. */
  sent: readonly ReplayEvent[];
  /** Time since the previous step; null for the first one, and where a time is unknown. May be negative. */
  sincePreviousMs: number | null;
  /** Time since the first step of the whole log. */
  elapsedMs: number | null;
  /** Totals of all calls up to and including this step. */
  soFar: CallTotals;
}

/** Makes a step of each event as it arrives, except for a `cost.recorded`, which joins the step of its call. */
export interface StepReader {
  /** Adds the next event. Returns the steps that are complete. */
  add(event: ReplayEvent): ReplayStep[];
  /** Returns the step of a `model.called` at the end, if there is one. */
  end(): ReplayStep[];
}

/** Creates a reader, which keeps only what the next step needs. */
export function createStepReader(): StepReader {
  const toStep = createStepMaker();
  let called: ReplayEvent | undefined;
  const end = (costRecorded?: ReplayEvent): ReplayStep[] => {
    const steps = called ? [toStep(called, costRecorded)] : [];
    called = undefined;
    return steps;
  };
  return {
    add(event) {
      if (called) {
        const isItsCost = event.type === "cost.recorded" && callIdOf(event) !== undefined &&
          callIdOf(event) === callIdOf(called);
        if (isItsCost) return end(event);
      }
      const steps = end();
      if (event.type === "model.called") called = event;
      else steps.push(toStep(event));
      return steps;
    },
    end: () => end(),
  };
}

/** Yields the steps of a log. Keeps only what the next step needs. */
export async function* replaySteps(
  events: AsyncIterable<ReplayEvent> | Iterable<ReplayEvent>,
): AsyncGenerator<ReplayStep> {
  const reader = createStepReader();
  for await (const event of events) yield* reader.add(event);
  yield* reader.end();
}

function createStepMaker(): (event: ReplayEvent, costRecorded?: ReplayEvent) => ReplayStep {
  const counter = new CallCounter();
  let startedAt: number | undefined;
  let previousAt: number | undefined;
  let unsent: ReplayEvent[] = [];
  return (event, costRecorded) => {
    if (event.type === "model.called" || event.type === "cost.recorded") counter.add(event, costRecorded);
    if (event.type === "run.started") unsent = [event];
    else if (event.type === "tool.returned") unsent.push(event);
    // A failed call may be retried with the same inputs.
    const sent = event.type === "model.called" || event.type === "model.failed" ? [...unsent] : [];
    if (event.type === "model.called") unsent = [];

    const at = timeOf(event);
    const step = {
      event,
      costRecorded,
      sent,
      sincePreviousMs: at === undefined || previousAt === undefined ? null : at - previousAt,
      elapsedMs: at === undefined ? null : at - (startedAt ??= at),
      soFar: counter.totals,
    };
    previousAt = at ?? previousAt;
    return step;
  };
}

function timeOf({ at }: ReplayEvent): number | undefined {
  const time = typeof at === "string" ? Date.parse(at) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** A range of a session's own log by seq, both ends included. */
export interface SeqRange {
  from?: number;
  until?: number;
}

/**
 * Yields the steps with an event in the range. Imported history lies before seq 1. Stops reading at the end of the
 * range.
 */
export async function* selectSteps(
  steps: AsyncIterable<ReplayStep>,
  { from, until }: SeqRange,
): AsyncGenerator<ReplayStep> {
  let last = 0;
  for await (const step of steps) {
    if (step.event.imported_from === undefined) {
      const first = step.event.seq ?? last;
      last = step.costRecorded?.seq ?? first;
      if (until !== undefined && first > until) return;
    }
    if (from === undefined || last >= from) yield step;
  }
}

/** The limits of the viewer's memory. */
export interface HoldLimits {
  steps: number;
  /** The length of the events as JSON; in memory they take a few times that. */
  characters: number;
}

/** 200 million characters are about half of a process's default memory limit. */
export const HOLD_LIMITS: HoldLimits = { steps: 100_000, characters: 200_000_000 };

/** Steps in memory. */
export interface HeldSteps {
  steps: ReplayStep[];
  /** The first step over the limits, if any. */
  next?: ReplayStep;
}

/** Reads steps up to the limits, at least one. */
export async function holdSteps(
  steps: AsyncIterable<ReplayStep>,
  limits: HoldLimits = HOLD_LIMITS,
): Promise<HeldSteps> {
  const held: ReplayStep[] = [];
  let characters = 0;
  for await (const step of steps) {
    characters += JSON.stringify(step.event).length;
    const isFull = held.length >= limits.steps || characters > limits.characters;
    if (isFull && held.length > 0) return { steps: held, next: step };
    held.push(step);
  }
  return { steps: held };
}

/** Returns a step as a value for JSON: the event, the cost event of its call, and the totals up to it. */
export function jsonOfStep(step: ReplayStep): Record<string, unknown> {
  const { event, costRecorded, soFar } = step;
  return {
    ...event,
    ...(costRecorded && { cost_recorded: costRecorded }),
    elapsed_ms: step.elapsedMs,
    since_previous_ms: step.sincePreviousMs,
    // Messages have no call data.
    ...(event.type !== MESSAGE && {
      cost_usd_so_far: totalUsd(soFar),
      input_tokens_so_far: soFar.inputTokens,
      output_tokens_so_far: soFar.outputTokens,
      calls_so_far: soFar.calls,
      unpriced_calls_so_far: soFar.unpricedCalls,
      partly_priced_calls_so_far: soFar.partlyPricedCalls,
    }),
  };
}

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
