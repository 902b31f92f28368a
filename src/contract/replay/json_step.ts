import { totalUsd } from "./format_totals.ts";
import { MESSAGE } from "./replay_event.ts";
import type { ReplayStep } from "./replay_steps.ts";

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
