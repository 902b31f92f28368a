import { type CallTotals, createCallCounter } from "./call_totals.ts";
import { callIdOf } from "./payload_fields.ts";
import type { ReplayEvent } from "./replay_event.ts";

/** One step of a replay. */
export interface ReplayStep {
  event: ReplayEvent;
  /** The ledger's word on the call of a `model.called`. */
  costRecorded?: ReplayEvent;
  /** What the model was newly sent: the event that started its run, tools that returned. */
  sent: readonly ReplayEvent[];
  /** Since the step before; null for the first one, and where no time is known. May be negative. */
  sincePreviousMs: number | null;
  /** Since the first step of the whole log. */
  elapsedMs: number | null;
  /** Of all calls up to here, this step's included. */
  soFar: CallTotals;
}

/**
 * One step for each event of a log, except that a `cost.recorded` belongs to the `model.called` right before
 * it that has the same call. Holds no more than it needs for the next step.
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
  const counter = createCallCounter();
  let startedAt: number | undefined;
  let previousAt: number | undefined;
  let unsent: ReplayEvent[] = [];
  return (event, costRecorded) => {
    if (event.type === "model.called" || event.type === "cost.recorded") counter.add(event, costRecorded);
    if (event.type === "run.started") unsent = [event];
    else if (event.type === "tool.returned") unsent.push(event);
    // A failed call may be tried again, with the same.
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
