import type { ReplayStep } from "./replay_steps.ts";

/** A part of a session's own log, by seq; both ends are in it. */
export interface SeqRange {
  from?: number;
  until?: number;
}

/**
 * The steps that have an event in the range. Imported history lies before seq 1. Stops reading where the
 * range ends.
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
