import { totalUsd } from "../steps/call_totals.ts";
import { MESSAGE } from "../steps/replay_event.ts";
import type { ReplayStep } from "../steps/replay_steps.ts";

/** What JSON may hold as it is, and a terminal would obey: see `escape_text.ts`. */
const UNSAFE = /[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** A step as one line of JSON: the event as it came, the cost event of its call, and the sums up to here. */
export function renderJsonStep(step: ReplayStep): string {
  const { event, costRecorded, soFar } = step;
  const line = JSON.stringify({
    ...event,
    ...(costRecorded && { cost_recorded: costRecorded }),
    elapsed_ms: step.elapsedMs,
    since_previous_ms: step.sincePreviousMs,
    // Messages tell nothing of calls.
    ...(event.type !== MESSAGE && {
      cost_usd_so_far: totalUsd(soFar),
      input_tokens_so_far: soFar.inputTokens,
      output_tokens_so_far: soFar.outputTokens,
      calls_so_far: soFar.calls,
      unpriced_calls_so_far: soFar.unpricedCalls,
    }),
  });
  // The same JSON, in escapes that every reader of JSON undoes.
  return line.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
