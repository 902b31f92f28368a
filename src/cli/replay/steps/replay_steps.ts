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

/**
 * Yields one step for each event of a log; a `cost.recorded` directly after the `model.called` of the same call joins its
 * step. Keeps only what the next step needs.
 */
export async function* replaySteps(
  events: AsyncIterable<ReplayEvent> | Iterable<ReplayEvent>,
): AsyncGenerator<ReplayStep> {
  const toStep = createStepMaker();
  let called: ReplayEvent | undefined;
  for await (const event of events) {
    if (called) {
      const isItsCost = event.type === "cost.recorded" && callIdOf(event) !== undefined &&
        callIdOf(event) === callIdOf(called);
      yield toStep(called, isItsCost ? event : undefined);
      called = undefined;
      if (isItsCost) continue;
    }
    if (event.type === "model.called") called = event;
    else yield toStep(event);
  }
  if (called) yield toStep(called);
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
