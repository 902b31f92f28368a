import { CallCounter, type CallTotals } from "./call_totals.ts";
import { callIdOf, type ReplayEvent } from "./replay_event.ts";

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

/** Makes steps of events as they arrive: one for each, but for a `cost.recorded` that joins the step of its call. */
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

/** The limits of what the viewer keeps in memory. */
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
